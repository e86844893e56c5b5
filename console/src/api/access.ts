/** Ways into allocations: tickets, sessions and recordings. */

import { queryOptions } from '@tanstack/react-query';
import { api, ask, once, type Schemas } from './client';
import { paged } from './lists';

export type AccessSession = Schemas['AccessSession'];
export type Recording = Schemas['Recording'];
export type NewAccessTicket = Schemas['NewAccessTicket'];

interface Place {
  project_id: string;
  id: string;
}

/** A ticket is in memory until it is spent, a moment later. */
function ticket({ project_id, id }: Place, body: Schemas['AccessTicketSpec']) {
  return ask(
    api.POST('/v1/projects/{project_id}/allocations/{allocation_id}/access-tickets', {
      params: { path: { project_id, allocation_id: id }, header: once() },
      body,
    }),
  );
}

export function terminalTicket(place: Place, { resume, node }: { resume?: string; node?: string }) {
  return ticket(place, {
    kind: 'terminal',
    ...(resume ? { resume } : {}),
    ...(node ? { node_id: node } : {}),
  });
}

export function webTicket(place: Place, port: number) {
  return ticket(place, { kind: 'http', port });
}

export function breakGlassTicket(allocation: string, reason: string) {
  return ask(
    api.POST('/v1/platform/allocations/{allocation_id}/break-glass', {
      params: { path: { allocation_id: allocation }, header: once() },
      body: { reason },
    }),
  );
}

/** The addresses that lines of `known_hosts` name, whatever marker a line begins with. */
export function addressesOf(knownHosts: string): string[] {
  return knownHosts.split('\n').flatMap((line) => {
    const fields = line.split(' ').filter(Boolean);
    const address = fields[0]?.startsWith('@') ? fields[1] : fields[0];
    return address?.split(',') ?? [];
  });
}

/** Where SSH clients find gateways: the lines that they compare keys with. */
export const sshAddressesQuery = () =>
  queryOptions({
    queryKey: ['gateway', 'ssh'],
    queryFn: async () => {
      const text = await ask(api.GET('/v1/ssh-known-hosts', { parseAs: 'text' }));
      return addressesOf(String(text ?? ''));
    },
    staleTime: Infinity,
  });

export interface SessionFilter {
  state?: 'ended' | undefined;
  allocation_id?: string | undefined;
}

export const accessSessionsQuery = (organization: string, filter: SessionFilter = {}) =>
  paged<AccessSession>(['access_session', organization, filter], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/access-sessions', {
        params: { path: { organization_id: organization }, query: { limit: 50, cursor, ...filter } },
      }),
    ),
  );

export const allAccessSessionsQuery = (filter: SessionFilter = {}) =>
  paged<AccessSession>(['access_session', 'all', filter], (cursor) =>
    ask(api.GET('/v1/platform/access-sessions', { params: { query: { limit: 50, cursor, ...filter } } })),
  );

export interface RecordingFilter {
  allocation_id?: string | undefined;
  user_id?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Every look is written to the audit log: none happens because a window was looked at. */
const LOOKED_AT_ONCE = {
  staleTime: Infinity,
  refetchOnWindowFocus: false,
  refetchOnReconnect: false,
} as const;

export const recordingsQuery = (organization: string, filter: RecordingFilter) => ({
  ...paged<Recording>(['recording', organization, filter], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/recordings', {
        params: { path: { organization_id: organization }, query: { limit: 50, cursor, ...filter } },
      }),
    ),
  ),
  ...LOOKED_AT_ONCE,
});

export const allRecordingsQuery = (filter: RecordingFilter) => ({
  ...paged<Recording>(['recording', 'all', filter], (cursor) =>
    ask(api.GET('/v1/platform/recordings', { params: { query: { limit: 50, cursor, ...filter } } })),
  ),
  ...LOOKED_AT_ONCE,
});

export const recordingQuery = (organization: string, recording: string) =>
  queryOptions({
    queryKey: ['recording', 'one', recording],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/recordings/{recording_id}', {
          params: { path: { organization_id: organization, recording_id: recording } },
        }),
      ),
    ...LOOKED_AT_ONCE,
  });

/** Of an organization, or, without one, of any: for platform staff. */
export const castQuery = (organization: string | undefined, recording: string) =>
  queryOptions({
    // Not under `recording`: what was shown does not change when another event does.
    queryKey: ['cast', recording],
    queryFn: async () => String((await readCast(organization, recording)) ?? ''),
    gcTime: 60_000,
    ...LOOKED_AT_ONCE,
  });

function readCast(organization: string | undefined, recording: string) {
  if (organization === undefined) {
    const path = { recording_id: recording };
    return ask(
      api.GET('/v1/platform/recordings/{recording_id}/asciicast', { params: { path }, parseAs: 'text' }),
    );
  }
  const path = { organization_id: organization, recording_id: recording };
  return ask(
    api.GET('/v1/organizations/{organization_id}/recordings/{recording_id}/asciicast', {
      params: { path },
      parseAs: 'text',
    }),
  );
}

export function verifyRecording(organization: string | undefined, recording: string) {
  if (organization === undefined) {
    const path = { recording_id: recording };
    return ask(api.GET('/v1/platform/recordings/{recording_id}/verify', { params: { path } }));
  }
  const path = { organization_id: organization, recording_id: recording };
  return ask(
    api.GET('/v1/organizations/{organization_id}/recordings/{recording_id}/verify', { params: { path } }),
  );
}
