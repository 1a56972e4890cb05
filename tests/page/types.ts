// What types.d.ts tells of the panel is true of it: the type checker compares the two.
import type { PreferencesPanel, TokenProvider } from "../../functions/preferences/api/assets/types.d.ts";
import type { Row, TokenProvider as AskedOf } from "../../functions/preferences/api/assets/preferences-client.js";
import type { PreferencesPanel as Real } from "../../functions/preferences/api/assets/preferences-panel.js";
import type { Preference } from "../../functions/preferences/api/assets/types.d.ts";

export const told = (panel: Real): PreferencesPanel => panel;
export const asked = (provider: TokenProvider): AskedOf => provider;
export const shown = (row: Row): Preference => row;
export const complete = (preference: Preference): Row => preference;
