"""The npm package that is made from the panel's files, and what it tells of them."""

import json
import re
import shutil
import subprocess
import tarfile
import tomllib

import pytest
from playwright.sync_api import expect

from tests.browser import JOURNEY, Panel
from tests.conftest import require
from tests.page.test_embedding import HOST_PAGE
from tests.stack import ROOT

pytestmark = pytest.mark.panel

ASSETS = ROOT / "functions/preferences/api/assets"
TSC = ROOT / "tests/page/node_modules/.bin/tsc"

CONSUMER = """
import type { PreferencesPanel, TokenProvider } from "preferences-panel";
import "preferences-panel";

const provider: TokenProvider = async ({ renew }) => (renew ? null : "token");
const panel: PreferencesPanel = document.createElement("preferences-panel");
panel.tokenProvider = provider;
panel.threadId = "trip";
panel.addEventListener("preferences-changed", ({ detail }) => {
  const titles: string[] = detail.preferences.filter((each) => each.locked).map((each) => each.title);
  console.log(titles, detail.revision.toFixed());
});
panel.addEventListener("preferences-error", (event) => {
  if (event.detail.code === "unauthorized") event.preventDefault();
});
"""
USERS = {"right.ts": "", "type.ts": "panel.threadId = 5;", "name.ts": "panel.refesh();"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder that `npm pack` makes."""
    require(shutil.which("npm"), "REQUIRE_BROWSER", "npm is missing")
    place = tmp_path_factory.mktemp("npm")
    command = ["npm", "pack", "--silent", "--pack-destination", place, ASSETS]
    subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
    (packed,) = place.glob("*.tgz")
    with tarfile.open(packed) as archive:
        archive.extractall(place, filter="data")
    return place / "package"


@pytest.fixture(scope="module")
def told():
    (module,) = json.loads((ASSETS / "custom-elements.json").read_text())["modules"]
    return module["declarations"][0]


def sources() -> str:
    return "".join(path.read_text() for path in sorted(ASSETS.glob("preferences-*.js")))


def needed(name: str, seen: set[str]) -> set[str]:
    """The file and all that it imports."""
    if name not in seen:
        seen.add(name)
        for other in re.findall(
            r'(?:from|await import\(|^import) ?"\./([^"]+)"', (ASSETS / name).read_text(), re.MULTILINE
        ):
            needed(other, seen)
    return seen


@pytest.fixture(scope="module")
def compiled(package, tmp_path_factory):
    """{file: what the compiler says of it}, of one user of the package each."""
    require(TSC.exists(), "REQUIRE_BROWSER", "the panel's checks are not installed: make check-panel")
    folder = tmp_path_factory.mktemp("users")
    shutil.copytree(package, folder / "node_modules/preferences-panel")
    for name, more in USERS.items():
        (folder / name).write_text(CONSUMER + more)
    options = {"strict": True, "noEmit": True, "target": "es2022", "module": "nodenext", "types": []}
    options["skipDefaultLibCheck"] = True  # the compiler's own
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    answer = subprocess.run([TSC], cwd=folder, capture_output=True, text=True, timeout=120)
    lines = answer.stdout.splitlines()
    said = {name: [line for line in lines if line.startswith(f"{name}(")] for name in USERS}
    assert sum(map(len, said.values())) == len(lines), answer.stdout
    return said


class TestThePackage:
    def test_holds_what_the_panel_needs_and_nothing_else(self, package):
        described = {"package.json", "custom-elements.json", "types.d.ts"}
        assert {path.name for path in package.iterdir()} == needed("preferences-panel.js", set()) | described

    def test_has_the_projects_version(self, package):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert json.loads((package / "package.json").read_text())["version"] == project["version"]

    def test_works_in_a_page(self, package, usual_page, stack):
        panel = Panel(usual_page, stack, "packed")
        panel.api("PUT", "")
        panel.api("POST", "/preferences", {"items": JOURNEY})
        body = HOST_PAGE.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        body = body.replace("/assets/", "/node_modules/preferences-panel/")
        usual_page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        usual_page.route(
            "**/node_modules/preferences-panel/*",
            lambda route: route.fulfill(path=package / route.request.url.rpartition("/")[2]),
        )
        usual_page.goto("/host.html")
        panel.shows(*[row["title"] for row in JOURNEY])
        panel.button("Lock Window seat").click()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()

    @pytest.mark.parametrize(
        ("name", "faults"), [("right.ts", []), ("type.ts", ["TS2322"]), ("name.ts", ["TS2551"])]
    )
    def test_types_hold_its_users_to_it(self, compiled, name, faults):
        assert [re.search(r"error (\w+)", line)[1] for line in compiled[name]] == faults


class TestTheManifest:
    def test_names_every_part(self, told):
        names = re.findall(r'part: ["`]([^"`]*)["`]', sources())
        parts = {part for name in names for part in name.split() if "$" not in part}
        assert {part["name"] for part in told["cssParts"]} == parts | {"lock", "edit", "remove"}

    def test_names_every_property_of_the_style(self, told):
        style = (ASSETS / "preferences-style.js").read_text()
        colours = re.findall(r'^  "?([\w-]+)"?: \["#', style, re.MULTILINE)
        named = re.findall(r"var\(--preferences-(\w+),", style)
        assert len(colours) > 5
        assert {each["name"] for each in told["cssProperties"]} == {
            f"--preferences-{name}" for name in (*colours, *named)
        }

    def test_names_attributes_events_and_members(self, told, panel):
        observed = panel.page.evaluate("customElements.get('preferences-panel').observedAttributes")
        assert {each["name"] for each in told["attributes"]} == {*observed, "scheme", "thread-title"}
        events = set(re.findall(r'CustomEvent\("(preferences-\w+)"', sources()))
        assert {each["name"] for each in told["events"]} == events
        own = panel.page.evaluate(
            "Object.getOwnPropertyNames(customElements.get('preferences-panel').prototype)"
        )
        callbacks = {"constructor", "connectedCallback", "disconnectedCallback", "attributeChangedCallback"}
        # token-provider is tokenProvider, for templates
        assert {each["name"] for each in told["members"]} == {*own} - callbacks - {"token-provider"}
