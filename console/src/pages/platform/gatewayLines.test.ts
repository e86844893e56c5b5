import { expect, test } from 'vitest';
import type { Schemas } from '@/api/client';
import { gatewayLines } from './gatewayLines';

const made = (public_url: string, ssh_address: string | null): Schemas['NewGateway'] => ({
  gateway: {
    id: 'gateway-1',
    name: 'edge-1',
    region_id: 'region-1',
    status: 'waiting',
    agent_url: 'https://edge-1.example.com:7444',
    public_url,
    ssh_address,
    web_domain: 'web.example.net',
    nodes: 0,
    sessions: 0,
    created_at: '2026-11-16T00:00:00Z',
  },
  secret: 'once',
  control_url: 'https://control.example.com:8443',
  ca_fingerprint: 'abc',
});

test('gateway behind a proxy gets all required settings', () => {
  expect(gatewayLines(made('wss://gw.example.com', null), 'https://gpu.example.com').split('\n')).toEqual([
    'GPUAAS_GATEWAY_JOIN_TOKEN=once',
    'GPUAAS_GATEWAY_CONTROL_URL=https://control.example.com:8443',
    'GPUAAS_GATEWAY_CA_FINGERPRINT=abc',
    'GPUAAS_GATEWAY_AGENT_LISTEN=0.0.0.0:7444',
    'GPUAAS_GATEWAY_LISTEN=127.0.0.1:8081',
    'GPUAAS_GATEWAY_WEB_DOMAIN=web.example.net',
    'GPUAAS_GATEWAY_ORIGINS=https://gpu.example.com',
  ]);
});

test('gateway without a proxy listens on its public and SSH ports', () => {
  const lines = gatewayLines(made('ws://gw.example.com:8090', 'gw.example.com:22'), 'http://127.0.0.1:8080');
  expect(lines).toContain('GPUAAS_GATEWAY_LISTEN=0.0.0.0:8090\n');
  expect(lines).toContain('GPUAAS_GATEWAY_SSH_LISTEN=0.0.0.0:22\n');
});
