/** Which GPUs of a host are close to each other. */

import type { Schemas } from '@/api/client';

type Slot = Schemas['Slot'];

export interface Near {
  /** The NUMA node, if the host tells. */
  numa: number | undefined;
  slots: Slot[];
  disks: string[];
  networks: string[];
}

export function near(slots: readonly Slot[]): Near[] {
  const found = new Map<number | undefined, Near>();
  for (const slot of slots) {
    const numa = slot.numa ?? undefined;
    const part = found.get(numa) ?? { numa, slots: [], disks: [], networks: [] };
    found.set(numa, part);
    part.slots.push(slot);
    for (const disk of slot.nvme) if (!part.disks.includes(disk)) part.disks.push(disk);
    if (slot.fabric && !part.networks.includes(slot.fabric)) part.networks.push(slot.fabric);
  }
  return [...found.values()].sort((a, b) => (a.numa ?? Infinity) - (b.numa ?? Infinity));
}
