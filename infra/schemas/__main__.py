"""Writes every generated file: `python -m infra.schemas`."""

from infra.schemas import INFRA, rendered

for path, text in rendered().items():
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(path.relative_to(INFRA.parent))
