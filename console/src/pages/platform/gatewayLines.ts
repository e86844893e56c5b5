/** What a gateway's process is told in its environment, from what was asked for and answered. */

import type { Schemas } from '@/api/client';

export const GATEWAY_COMMAND = 'gpuaasd serve --roles gateway';

/** The port that an address of hosts or clients ends with. */
function portOf(address: string): string | undefined {
  return /:(\d+)\/?$/.exec(address)?.[1];
}

/** Behind a proxy that does TLS it listens on this machine alone, as when nothing is said. */
function listenOf(publicUrl: string): string {
  return publicUrl.startsWith('ws://') ? `0.0.0.0:${portOf(publicUrl) ?? '80'}` : '127.0.0.1:8081';
}

export function gatewayLines(made: Schemas['NewGateway'], consoleOrigin: string): string {
  const { gateway } = made;
  const ssh = gateway.ssh_address ? portOf(gateway.ssh_address) : undefined;
  const settings: readonly (readonly [string, string] | undefined)[] = [
    ['JOIN_TOKEN', made.secret],
    ['CONTROL_URL', made.control_url],
    ['CA_FINGERPRINT', made.ca_fingerprint],
    ['AGENT_LISTEN', `0.0.0.0:${portOf(gateway.agent_url) ?? '8444'}`],
    ['LISTEN', listenOf(gateway.public_url)],
    ssh ? ['SSH_LISTEN', `0.0.0.0:${ssh}`] : undefined,
    ['WEB_DOMAIN', gateway.web_domain],
    ['ORIGINS', consoleOrigin],
  ];
  return settings.flatMap((it) => (it ? [`GPUAAS_GATEWAY_${it[0]}=${it[1]}`] : [])).join('\n');
}
