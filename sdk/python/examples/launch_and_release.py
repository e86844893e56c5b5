"""Takes GPUs, shows what came, and gives them back, whatever happens in between."""

import sys

import gpuaas


def main(sku: str = "h200-slice", gpus: str = "2") -> None:
    """Launches `gpus` GPUs of a SKU for at most an hour."""
    with gpuaas.Client() as client:
        with client.allocations.create(sku=sku, gpus=int(gpus), lease_minutes=60) as allocation:
            print(f"{allocation.id} is {allocation.state}")
            for part in allocation.parts:
                print(f"  ssh {allocation.login}@{part.host}  # {len(part.gpus)} GPUs")
        print(f"{allocation.id} is {allocation.wait('released').state}")


if __name__ == "__main__":
    main(*sys.argv[1:])
