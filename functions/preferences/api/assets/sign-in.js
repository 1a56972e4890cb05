/**
 * Sign-in by OpenID Connect's authorization code with PKCE. No secret is involved: the code is worth
 * something only to whoever holds the verifier, which never leaves this tab.
 */
import { claimsOf } from "./preferences-client.js";

const TOKEN = "sign-in.token";
const ATTEMPT = "sign-in.attempt";
const MARGIN = 30_000; // a token this near to its end is not sent any more, unless it lasts hardly longer

/**
 * @typedef {{authorize_url: string|null, token_url: string|null, client_id: string|null, scope: string|null,
 *   audience: string|null, sign_out_url: string|null, redirect_path: string, agent_console: string|null}} Settings
 */

/** Whether the browser lets this page keep a token; it may refuse all storage. */
export function hasStorage() {
  try {
    return Boolean(window.sessionStorage);
  } catch {
    return false;
  }
}

/** @param {string} key @returns {any} */
function recall(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Settings} settings */
export function canSignIn(settings) {
  return Boolean(settings.authorize_url && settings.token_url && settings.client_id);
}

/** Leaves the page for the issuer's; `finishSignIn` goes on after the way back. @param {Settings} settings */
export async function beginSignIn(settings) {
  const attempt = { state: random(), verifier: random(), hash: location.hash };
  sessionStorage.setItem(ATTEMPT, JSON.stringify(attempt));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
  const way = new URL(String(settings.authorize_url)); // it may have a query of its own, which has to be kept
  const asked = {
    response_type: "code",
    client_id: String(settings.client_id),
    redirect_uri: location.origin + settings.redirect_path,
    scope: settings.scope ?? "openid",
    state: attempt.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    ...(settings.audience ? { audience: settings.audience } : {}),
  };
  for (const [name, value] of Object.entries(asked)) way.searchParams.set(name, value);
  location.assign(way);
}

/**
 * Trades the code in the address, if there is one, for a token. Whoever is signed in already stays so,
 * whatever `?code=` the address has.
 * @param {Settings} settings
 * @throws {Error} in a person's words, when the issuer refused or the answer is not to our question
 */
export async function finishSignIn(settings) {
  const query = new URLSearchParams(location.search);
  if (!query.has("code") && !query.has("error")) return;
  const attempt = recall(ATTEMPT);
  sessionStorage.removeItem(ATTEMPT);
  // The code must not stay in the address, nor in the history
  history.replaceState(null, "", settings.redirect_path + (attempt?.hash ?? location.hash));
  if (!attempt && accessToken()) return;
  if (!attempt || query.get("state") !== attempt.state) throw new Error("The sign-in did not begin in this tab. Please try again.");
  if (query.has("error")) throw new Error(`The sign-in was refused: ${query.get("error_description") ?? query.get("error")}.`);
  await trade(settings, query.get("code") ?? "", attempt.verifier);
}

/**
 * @param {Settings} settings
 * @param {string} code
 * @param {string} verifier
 */
async function trade(settings, code, verifier) {
  const response = await fetch(String(settings.token_url), {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_id: String(settings.client_id),
      redirect_uri: location.origin + settings.redirect_path,
      code_verifier: verifier,
    }),
    credentials: "omit",
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.access_token) throw new Error("The sign-in could not be completed. Please try again.");
  if (!claimsOf(answer.access_token)?.sub) {
    throw new Error("You are signed in, but the sign-in gave no token that this service can read. Whoever runs this page has to set it up.");
  }
  const lasts = Number(answer.expires_in) > 0 ? Number(answer.expires_in) * 1000 : 3_600_000;
  const until = Date.now() + lasts - Math.min(MARGIN, lasts / 2);
  sessionStorage.setItem(TOKEN, JSON.stringify({ token: answer.access_token, until }));
}

/** @returns {string|null} the access token, while it holds */
export function accessToken() {
  const kept = recall(TOKEN);
  return kept?.until > Date.now() ? kept.token : null;
}

export function forgetToken() {
  if (hasStorage()) sessionStorage.removeItem(TOKEN);
}

/**
 * Leaves for the page without anyone. Where the issuer keeps a session, by way of its end: it would let in
 * whoever presses "Sign in" next, without a question. @param {Settings} settings
 */
export function signOut(settings) {
  forgetToken();
  if (!settings.sign_out_url) return location.replace(settings.redirect_path);
  const way = new URL(settings.sign_out_url);
  way.searchParams.set("client_id", String(settings.client_id));
  way.searchParams.set("logout_uri", location.origin + settings.redirect_path);
  location.replace(way.href);
}

/**
 * Who the token speaks of: to be shown, and passed on by the console that plays the agent.
 * @returns {{sub: string, name: string}|null}
 */
export function person() {
  const claims = claimsOf(accessToken());
  return claims?.sub ? { sub: claims.sub, name: claims.username ?? claims.sub } : null;
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
