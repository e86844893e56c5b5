"""Prints what was spent and what is left: `watch_cost.py [ROUNDS] [SECONDS]`."""

import sys
import time
from datetime import UTC, datetime, timedelta

import gpuaas


def main(rounds: str = "60", every_s: str = "60") -> None:
    """The last day by SKU, and the balance, again and again."""
    with gpuaas.Client() as client:
        for number in range(int(rounds)):
            if number:
                time.sleep(float(every_s))
            usage = client.usage.get(by="sku", since=datetime.now(UTC) - timedelta(days=1))
            for line in usage.lines:
                amount = line.amount_micros / 1_000_000
                print(f"{line.key:<14}{line.gpu_seconds:>10} GPU s  {amount:.4f} {line.currency}")
            for balance in client.ledger.get_balance().items:
                print(f"balance       {balance.available_micros / 1_000_000:.2f} {balance.currency}")
            print(f"at {usage.until:%H:%M:%S}, {len(usage.lines)} SKUs", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
