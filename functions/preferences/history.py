"""The Lambda handler of the table's stream: every committed write becomes an entry of the history.

Lambda sends batches in the order of each thread's writes. It sends a batch again from the first record that
was reported as failed, and at times without a reason. Neither order nor repeats matter here: an entry is
stored once, under its revision, and entries of a deleted thread are not stored. So after a failure the rest
of the batch is processed all the same; if Lambda gives the failed record up, nothing else is missing.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from preferences import rules
from preferences.errors import describe_fault
from preferences.repository import History, open_repository, read_images

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

logger = Logger()


def handler(event: object, context: "LambdaContext") -> dict[str, Any]:
    """`{"batchItemFailures": [{"itemIdentifier": <sequence number>}…]}`: what to hand over again.

    No record makes it raise. The identifier of one without a sequence number is empty, which to Lambda is
    the whole batch.
    """
    started = time.perf_counter()
    logger.set_correlation_id(getattr(context, "aws_request_id", None))
    history = open_repository(lambda: context.get_remaining_time_in_millis() / 1000).history
    records = event.get("Records") if isinstance(event, Mapping) else None
    records = records if isinstance(records, list) else []
    failed = [record for record in records if not _taken(record, history)]
    logger.info(
        "changes",
        records=len(records),
        failed=len(failed),
        milliseconds=round((time.perf_counter() - started) * 1000, 1),
    )
    return {"batchItemFailures": [{"itemIdentifier": _sequence_number(record)} for record in failed]}


def _taken(record: Any, history: History) -> bool:
    try:
        _take(record, history)
    except Exception as fault:
        logger.error("fault", **describe_fault(fault))
        return False
    return True


def _take(record: Mapping[str, Any], history: History) -> None:
    images = read_images(record)
    if images is None:  # not a thread's list
        return
    if images.new.owner is None:  # a tombstone, or not even that any more
        history.purge(images.new.thread_id, max(images.old.revision, images.new.revision))
    elif entry := rules.entry_of(images.old, images.new):
        history.put(images.new.thread_id, entry)


def _sequence_number(record: Any) -> str:
    try:
        return str(record["dynamodb"]["SequenceNumber"])
    except (KeyError, TypeError):
        return ""
