/**
 * Holds the panel to the browsers of the last years: whatever its scripts and styles use must be in the first
 * version that each of BROWSERS released since SINCE, by MDN's browser compatibility data.
 *
 *     node browsers.js [FILE…]      tells what is too new, and ends with 1 if anything is
 *
 * Scripts: TypeScript names the interface that each used member is declared in, so that `list.toSorted()` is told
 * from any other `toSorted`. That leaves out what is reached through `any`. Syntax is the linter's part: it parses
 * by the edition of the language that these browsers know.
 * Styles: properties, values, functions, selectors and at-rules. A style may be newer where it stands in an
 * `@supports`, or after a declaration of the same property in the same rule, which older browsers keep to.
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import bcd from "@mdn/browser-compat-data" with { type: "json" };
import * as css from "css-tree";
import ts from "typescript";

const SINCE = "2023-12-01";
const BROWSERS = ["chrome", "edge", "firefox", "safari", "safari_ios", "chrome_android", "firefox_android"];
const HERE = dirname(fileURLToPath(import.meta.url));
const ASSETS = join(HERE, "../../functions/preferences/api/assets");

/** Newer than that, or unknown to some: the beginnings of their keys, and why a browser without them serves as well. */
const GRACEFUL = {
  "api.KeyboardEvent.repeat": "of two keys held down together one may count as pressed anew, which sends an empty form at most",
  "css.properties.accent-color": "a ticked box keeps the browser's own colour",
  "css.properties.cursor": "a touch screen shows no pointer",
  "css.properties.field-sizing": "a longer text scrolls within its field",
  "css.properties.font-family.ui-monospace": "the next font of the list serves",
  "css.properties.forced-color-adjust": "Safari has no forced colours to leave",
  "css.properties.resize": "a phone's fields are not resized by hand",
  "css.properties.text-wrap": "a paragraph may end in a short line",
};

const oldest = Object.fromEntries(BROWSERS.map((name) => [name, firstSince(name)]));

function firstSince(browser) {
  const releases = Object.entries(bcd.browsers[browser].releases)
    .filter(([, { release_date: date }]) => date && date >= SINCE)
    .sort(([, one], [, other]) => (one.release_date < other.release_date ? -1 : 1));
  return releases[0][0];
}

/** Whether version a is b or older; both as MDN writes them, such as "17.2" or "≤12". */
function isAtMost(a, b) {
  const [one, other] = [a, b].map((version) => version.replace("≤", "").split(".").map(Number));
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    if ((one[at] ?? 0) !== (other[at] ?? 0)) return (one[at] ?? 0) < (other[at] ?? 0);
  }
  return true;
}

function entry(key) {
  let at = bcd;
  for (const part of key.split(".")) {
    if (!at || !Object.hasOwn(at, part)) return undefined;
    at = at[part];
  }
  return at.__compat;
}

/** The browsers that lack it, or null where the data does not know it. */
function lacking(key) {
  const compat = entry(key);
  if (!compat) return null;
  return BROWSERS.filter((browser) => {
    const statements = [compat.support[browser] ?? []].flat();
    return !statements.some(({ version_added: added, version_removed: removed, flags, prefix, alternative_name: other }) =>
      typeof added === "string" && added !== "preview" && !removed && !flags && !prefix && !other && isAtMost(added, oldest[browser]));
  });
}

const faults = [];
const looked = new Set();

/** Looks the first of these keys up that the data knows. */
function look(where, ...keys) {
  for (const key of keys) {
    const without = lacking(key);
    if (without === null) continue;
    looked.add(key);
    const isGraceful = Object.keys(GRACEFUL).some((start) => `${key}.`.startsWith(`${start}.`));
    if (without.length && !isGraceful) faults.push(`${where}: ${key} is not in ${without.map((name) => `${name} ${oldest[name]}`).join(", ")}`);
    return true;
  }
  return false;
}

// -- scripts ---------------------------------------------------------------------------------------------

function lookThroughScripts(files) {
  const { config } = ts.readConfigFile(join(HERE, "tsconfig.json"), ts.sys.readFile);
  // Every edition's names, so that what is too new is found in the data, and not just unknown
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, HERE);
  const program = ts.createProgram(files, { ...options, lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"] });
  const checker = program.getTypeChecker();
  for (const file of files) {
    const source = program.getSourceFile(file);
    const where = (node) => `${file.split("/").at(-1)}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    (function walk(node) {
      if (ts.isIdentifier(node)) lookAtName(checker, node, where(node));
      if (ts.isCallExpression(node)) lookAtAttributes(node, where(node));
      ts.forEachChild(node, walk);
    })(source);
  }
}

function lookAtName(checker, node, where) {
  let symbol = checker.getSymbolAtLocation(node);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  for (const declaration of symbol?.declarations ?? []) {
    if (!/\/lib\.[^/]*\.d\.ts$/.test(declaration.getSourceFile().fileName)) continue;
    const name = symbol.name;
    const owner = declaration.parent;
    const isStatic = ts.isTypeLiteralNode(owner) && ts.isVariableDeclaration(owner.parent); // declare var X: {…}
    const type = ts.isInterfaceDeclaration(owner) ? owner.name.text : isStatic ? owner.parent.name.text : null;
    if (type) {
      const plain = type.replace(/Constructor$|EventMap$|OrUndefined$/, "");
      const suffix = isStatic ? "_static" : "";
      look(where, `api.${plain}.${name}${suffix}`, `api.${plain}.${name}`, `javascript.builtins.${plain}.${name}`);
    } else if (ts.isVariableDeclaration(declaration) || ts.isFunctionDeclaration(declaration)) {
      look(where, `api.${name}`, `api.Window.${name}`, `javascript.builtins.${name}`);
    }
  }
}

/** The attributes of `h("button", { type: "button" })`. */
function lookAtAttributes(call, where) {
  const [tag, attributes] = call.arguments;
  if (call.expression.getText() !== "h" || !tag || !ts.isStringLiteral(tag)) return;
  look(where, `html.elements.${tag.text}`);
  if (!attributes || !ts.isObjectLiteralExpression(attributes)) return;
  for (const { name } of attributes.properties) {
    if (name && !ts.isComputedPropertyName(name)) look(where, `html.elements.${tag.text}.${name.text}`, `html.global_attributes.${name.text}`);
  }
}

// -- styles ----------------------------------------------------------------------------------------------

function lookThroughStyles(name, text, lines = 0) {
  const tree = css.parse(text, {
    positions: true,
    parseCustomProperty: true,
    onParseError: (error) => faults.push(`${name}:${error.line + lines}: ${error.message}`),
  });
  const where = (node) => `${name}:${node.loc.start.line + lines}`;
  css.walk(tree, function (node) {
    if (this.atrule?.name === "supports" && this.atrule !== node) return;
    if (node.type === "Atrule") {
      look(where(node), `css.at-rules.${node.name}`);
    } else if (node.type === "MediaFeature" || (node.type === "Feature" && this.atrule?.name === "media")) {
      look(where(node), `css.at-rules.media.${node.name}`, `css.at-rules.media.${node.name.replace(/^(min|max)-/, "")}`);
    } else if (node.type === "PseudoClassSelector" || node.type === "PseudoElementSelector") {
      look(where(node), `css.selectors.${node.name}`);
    } else if (node.type === "Declaration" && !hasFallback(this, node)) {
      lookAtDeclaration(node, where(node));
    }
  });
}

/** Whether the rule has an earlier declaration of the property, which stands where this one is not understood. */
function hasFallback({ block }, declaration) {
  for (const each of block?.children ?? []) {
    if (each === declaration) return false;
    if (each.type === "Declaration" && each.property === declaration.property && !declaration.property.startsWith("--")) return true;
  }
  return false;
}

function lookAtDeclaration(node, where) {
  const { property } = node;
  if (!property.startsWith("--")) look(where, `css.properties.${property}`);
  css.walk(node.value, (part) => {
    const name = part.name;
    if (part.type === "Function") look(where, `css.types.${name}`, `css.types.color.${name}`, `css.types.image.${name}`, `css.types.${name.replace(/^.*-/, "")}`, `css.properties.${property}.${name}`);
    if (part.type === "Identifier") look(where, `css.properties.${property}.${name}`);
    if (part.type === "Operator" && part.value === "/" && property === "content") look(where, "css.properties.content.alt_text");
    if (part.type === "Dimension") look(where, `css.types.length.${part.unit}`);
  });
}

// -- all of it -------------------------------------------------------------------------------------------

const files = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(ASSETS).map((name) => join(ASSETS, name));
lookThroughScripts(files.filter((file) => file.endsWith(".js")));
for (const file of files) {
  const name = file.split("/").at(-1);
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".css")) lookThroughStyles(name, text);
  const sheet = /\.replaceSync\(`([^`]*)`/.exec(text);
  if (file.endsWith(".js") && sheet) lookThroughStyles(name, sheet[1].replace(/\$\{[^}]*\}/g, ""), text.slice(0, sheet.index).split("\n").length - 1);
}
for (const fault of [...new Set(faults)].sort()) console.error(fault);
const versions = Object.entries(oldest).map(([name, version]) => `${name} ${version}`).join(", ");
console.log(`${looked.size} features looked up, ${new Set(faults).size} too new for ${versions}`);
process.exitCode = faults.length ? 1 : 0;
