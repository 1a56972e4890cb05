import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser }, // see browsers.js
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "complexity": ["error", 18], // each ?. and ?? counts as a branch
      "default-case-last": "error",
      "eqeqeq": "error",
      "max-depth": ["error", 3],
      "no-alert": "error",
      "no-console": ["error", { allow: ["warn", "error"] }],
      "no-eval": "error",
      "no-implicit-coercion": ["error", { boolean: false }],
      "no-implied-eval": "error",
      "no-param-reassign": "error",
      "no-self-compare": "error",
      "no-shadow": "error",
      "no-template-curly-in-string": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-unused-private-class-members": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      // Text reaches the page as text nodes and attributes only: nothing parses a string as HTML
      "no-restricted-properties": ["error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"].map((property) => ({ property, message: "Build elements with h()." })),
        { object: "document", property: "write" }],
    },
  },
  {
    files: ["tests/page/*.js"],
    languageOptions: { ecmaVersion: 2025, globals: globals.node },
    rules: { "no-console": "off" },
  },
];
