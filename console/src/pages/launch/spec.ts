/** What the launch form asks for: read from what was typed, priced, and as a command. */

import type { Schemas } from '@/api/client';
import { costMicros } from '@/format/money';

export interface Draft {
  project: string;
  sku: string;
  gpus: number;
  nodes: number;
  sameFabric: boolean;
  region: string;
  name: string;
  leaseMinutes: number | undefined;
  tags: string;
  /** `undefined` lets in all of the reader's keys. */
  keys: string[] | undefined;
}

/** The form as it was linked to: every part of it can be named in the address. */
export interface Asked {
  project?: string;
  sku?: string;
  gpus?: number;
  nodes?: number;
  region?: string;
  name?: string;
  /** Minutes; 0 is until it is released. */
  lease?: number;
  tags?: string;
}

interface Launched {
  project_id: string;
  sku: string;
  gpus: number;
  nodes: number;
  region?: string | null;
  tags: Record<string, string>;
}

/** What asks for another of the same kind. */
export function likeIt(it: Launched): Asked {
  const tags = Object.entries(it.tags).map(([label, value]) => `${label}=${value}`);
  return {
    project: it.project_id,
    sku: it.sku,
    gpus: it.gpus,
    ...(it.nodes > 1 ? { nodes: it.nodes } : {}),
    ...(it.region ? { region: it.region } : {}),
    ...(tags.length > 0 ? { tags: tags.join(', ') } : {}),
  };
}

/** Tags as `label=value`, parted by commas or lines; `undefined` when one is not. */
export function parseTags(text: string): Record<string, string> | undefined {
  const tags: Record<string, string> = {};
  for (const part of text.split(/[\n,]/).map((it) => it.trim())) {
    if (!part) continue;
    const [label, ...rest] = part.split('=');
    const value = rest.join('=').trim();
    if (!label?.trim() || !value) return undefined;
    tags[label.trim()] = value;
  }
  return tags;
}

export function toSpec(draft: Draft): Schemas['AllocationSpec'] {
  return {
    sku: draft.sku,
    gpus: draft.gpus,
    nodes: draft.nodes,
    ...(draft.nodes > 1 && draft.sameFabric ? { same_fabric: true } : {}),
    ...(draft.region ? { region: draft.region } : {}),
    ...(draft.name.trim() ? { name: draft.name.trim() } : {}),
    ...(draft.leaseMinutes ? { lease_minutes: draft.leaseMinutes } : {}),
    ...(draft.keys ? { ssh_keys: draft.keys } : {}),
    tags: parseTags(draft.tags) ?? {},
  };
}

export interface Estimate {
  perHour: number;
  perDay: number;
  /** For the whole lease, when it has one. */
  total: number | undefined;
  /** What is set aside at first: the lease, or as long as policy says. */
  hold: number;
}

export function estimate(draft: Draft, pricePerGpuHour: number, holdMinutes: number): Estimate {
  const gpus = draft.gpus * draft.nodes;
  const seconds = draft.leaseMinutes ? draft.leaseMinutes * 60 : undefined;
  return {
    perHour: costMicros(pricePerGpuHour, gpus, 3600),
    perDay: costMicros(pricePerGpuHour, gpus, 86_400),
    total: seconds === undefined ? undefined : costMicros(pricePerGpuHour, gpus, seconds),
    hold: costMicros(pricePerGpuHour, gpus, seconds ?? holdMinutes * 60),
  };
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function toCommand(draft: Draft, project: string): string {
  const spec = toSpec(draft);
  const flags = [`--project ${quoted(project)}`, `--sku ${spec.sku}`, `--gpus ${spec.gpus}`];
  if (draft.nodes > 1) flags.push(`--nodes ${draft.nodes}`);
  if (spec.same_fabric) flags.push('--same-fabric');
  if (spec.region) flags.push(`--region ${spec.region}`);
  if (spec.name) flags.push(`--name ${quoted(spec.name)}`);
  if (spec.lease_minutes) flags.push(`--lease-minutes ${spec.lease_minutes}`);
  for (const [label, value] of Object.entries(spec.tags ?? {}))
    flags.push(`--tag ${quoted(`${label}=${value}`)}`);
  return `gpuaas allocations create ${flags.join(' ')} --wait`;
}
