import { expect, test } from 'vitest';
import type { Schemas } from '@/api/client';
import { near } from './topology';

const slot = (index: number, numa: number | undefined, nvme: string[], fabric?: string): Schemas['Slot'] => ({
  id: `slot-${index}`,
  index,
  gpu_uuid: '',
  pci: '',
  model: '',
  memory_bytes: 0,
  nvme,
  condition: 'clean',
  ...(numa === undefined ? {} : { numa }),
  ...(fabric ? { fabric } : {}),
});

test('GPUs of a NUMA node are grouped with their devices', () => {
  const found = near([slot(2, 1, ['nvme1'], 'mlx1'), slot(0, 0, ['nvme0']), slot(1, 0, ['nvme0'], 'mlx0')]);
  expect(found.map((it) => [it.numa, it.slots.map((slot) => slot.index), it.disks, it.networks])).toEqual([
    [0, [0, 1], ['nvme0'], ['mlx0']],
    [1, [2], ['nvme1'], ['mlx1']],
  ]);
});

test('GPUs without a NUMA node form the last group', () => {
  expect(near([slot(0, undefined, []), slot(1, 3, [])]).map((it) => it.numa)).toEqual([3, undefined]);
});
