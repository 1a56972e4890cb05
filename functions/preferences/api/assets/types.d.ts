/** What a host page needs to know of <preferences-panel>, for TypeScript. */

export type Kind = "hard" | "soft";

export interface Preference {
  id: string;
  /** 1-based: the number by which the agent speaks of it. */
  position: number;
  title: string;
  subtitle: string | null;
  kind: Kind;
  locked: boolean;
  /** Of this preference; it grows with each change of its text or kind. */
  revision: number;
  created_by: "agent" | "user";
  /** ISO 8601. */
  created_at: string;
  updated_by: "agent" | "user";
  updated_at: string;
}

/** Gives an access token; asked with `renew` after the last one was refused. */
export type TokenProvider = (hint: { renew: boolean }) => Promise<string | null> | string | null;

/** With each newer list, the first one included; `suggestions` is how many of the agent's wait for the user. */
export type PreferencesChangedEvent = CustomEvent<{
  threadId: string;
  revision: number;
  preferences: Preference[];
  suggestions: number;
}>;

/**
 * With whatever failed: `doing` says what did not come about, `code` why, `status` is 0 where no answer came.
 * A host that asks for a new sign-in itself, at the code `unauthorized`, calls preventDefault().
 */
export type PreferencesErrorEvent = CustomEvent<{ doing: string; code: string; status: number; message: string }>;

export declare class PreferencesPanel extends HTMLElement {
  /** The conversation; reflects the attribute `thread-id`. */
  threadId: string | null;
  /** The API's address, the page's own origin where it is left out; reflects the attribute `api-base`. */
  apiBase: string | null;
  tokenProvider: TokenProvider | null;
  /** Looks for changes now. */
  refresh(): Promise<void> | undefined;
  /** Goes to the field for a new preference. */
  focus(): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "preferences-panel": PreferencesPanel;
  }
  interface HTMLElementEventMap {
    "preferences-changed": PreferencesChangedEvent;
    "preferences-error": PreferencesErrorEvent;
  }
}
