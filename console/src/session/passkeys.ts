/** Passkeys: what the API says in base64url, as the browser's own calls take and give it. */

import type { Schemas } from '@/api/client';

export type MfaAnswer = Omit<Schemas['MfaAnswer'], 'challenge'>;

/** Browsers have none on pages that came without TLS, nor for bare addresses. */
export function hasPasskeys(): boolean {
  const isAddress = /^[\d.]+$|:/.test(location.hostname);
  return 'PublicKeyCredential' in window && window.isSecureContext && !isAddress;
}

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (it) => it.charCodeAt(0));
}

export function toText(bytes: ArrayBuffer): string {
  const plain = Array.from(new Uint8Array(bytes), (it) => String.fromCharCode(it)).join('');
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export async function makePasskey(
  options: Schemas['PasskeyOptions'],
): Promise<Pick<Schemas['PasskeyConfirmation'], 'client_data_json' | 'attestation_object'>> {
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: toBytes(options.challenge),
      rp: { id: options.rp_id, name: options.rp_name },
      user: { id: toBytes(options.user_id), name: options.user_name, displayName: options.user_name },
      pubKeyCredParams: options.algorithms.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: options.exclude_credential_ids.map((id) => ({
        type: 'public-key',
        id: toBytes(id),
      })),
      attestation: 'none',
      authenticatorSelection: { userVerification: 'required' },
    },
  });
  const response = (made as PublicKeyCredential).response as AuthenticatorAttestationResponse;
  return {
    client_data_json: toText(response.clientDataJSON),
    attestation_object: toText(response.attestationObject),
  };
}

export async function provePasskey(request: Schemas['PasskeyRequest']): Promise<MfaAnswer> {
  const used = (await navigator.credentials.get({
    publicKey: {
      challenge: toBytes(request.challenge),
      rpId: request.rp_id,
      allowCredentials: request.credential_ids.map((id) => ({ type: 'public-key', id: toBytes(id) })),
      userVerification: 'required',
    },
  })) as PublicKeyCredential;
  const response = used.response as AuthenticatorAssertionResponse;
  return {
    passkey: {
      credential_id: toText(used.rawId),
      client_data_json: toText(response.clientDataJSON),
      authenticator_data: toText(response.authenticatorData),
      signature: toText(response.signature),
    },
  };
}

/** Six digits are a code, anything else a recovery code. */
export function asAnswer(typed: string): MfaAnswer {
  const plain = typed.replaceAll(/\s/g, '');
  return /^\d{6}$/.test(plain) ? { code: plain } : { recovery_code: typed.trim() };
}
