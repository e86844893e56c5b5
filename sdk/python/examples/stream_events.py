"""Prints events as they happen: `stream_events.py [SUBJECT] [COUNT]`."""

import itertools
import sys

import gpuaas


def main(subject: str = "", count: str = "") -> None:
    """Goes on until `count` events came, or for ever."""
    with gpuaas.Client() as client:
        events = client.events.follow(subject=subject or None)
        print("following", flush=True)
        for event in itertools.islice(events, int(count) if count else None):
            print(f"{event.at:%H:%M:%S}  {event.subject:<28}{event.resource or ''}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
