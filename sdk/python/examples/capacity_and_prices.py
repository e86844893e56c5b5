"""Prints what is free now, where, and what it costs."""

import gpuaas
from gpuaas.models import Price


def price_of(client: gpuaas.Client, sku_id: str) -> str:
    """The newest price of a SKU per GPU and hour, as people write it."""
    price: Price | None = client.prices.list(sku_id, unit="gpu_hour", kind="on_demand").first()
    if price is None:
        return "no price"
    return f"{price.price_micros / 1_000_000:.2f} {price.currency} per GPU and hour"


def main() -> None:
    """One line for each SKU and region."""
    with gpuaas.Client() as client:
        for line in client.capacity.list():
            price = price_of(client, line.sku_id)
            print(f"{line.sku:<14}{line.region:<10}{line.free:>4} {line.unit} free  {price}")


if __name__ == "__main__":
    main()
