// A real OpenID provider for tests: `node server.mjs PORT KEY_FILE [CALLBACK]`.
// People are whoever `login_hint` names, or whom its page is told, and consent
// to everything. Its keys live in the file, so that it can go away and come
// back as the same issuer.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as jose from 'jose';
import { Provider } from 'oidc-provider';

const [port, keyFile, callback = 'http://127.0.0.1:7777/callback'] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const page = '<!doctype html><form><label>Who are you? <input name="who"></label> <button>Go on</button></form>';

// Newest first; the first of an algorithm signs.
let keys = existsSync(keyFile) ? JSON.parse(readFileSync(keyFile)) : [];
let provider;

async function addKey(alg, keep) {
  const { privateKey } = await jose.generateKeyPair(alg, { extractable: true });
  const key = { ...(await jose.exportJWK(privateKey)), alg, use: 'sig', kid: randomUUID() };
  keys = [key, ...(keep ? keys : [])];
  writeFileSync(keyFile, JSON.stringify(keys));
}

function build() {
  const client = {
    redirect_uris: [callback],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    id_token_signed_response_alg: keys[0].alg,
  };
  const built = new Provider(issuer, {
    clients: [
      { ...client, client_id: 'gpuaas', client_secret: 'a secret, with + and %' },
      { ...client, client_id: 'gpuaas-public', token_endpoint_auth_method: 'none' },
    ],
    jwks: { keys },
    cookies: { keys: ['only for tests'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => person(sub) }),
    ttl: { Session: 600, Interaction: 600, Grant: 600, IdToken: 3600, AccessToken: 600 },
  });
  built.on('server_error', (_, error) => console.error(error));
  return built;
}

// `NAME~TAG` is another subject with the address of NAME.
function person(sub) {
  const [name] = sub.split('~');
  return { sub, name, email: `${name}@example.test`, email_verified: !name.startsWith('unverified') };
}

async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    const who = params.login_hint ?? new URL(request.url, issuer).searchParams.get('who');
    if (!who) return response.setHeader('content-type', 'text/html').end(page);
    const login = { accountId: who };
    return provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

// What only a test may ask of an issuer.
async function administer(path, body) {
  if (path === '/admin/rotate') {
    await addKey(body.alg, body.keep);
    provider = build();
    return {};
  }
  const key = await jose.importJWK(keys[0], keys[0].alg);
  const token = new jose.SignJWT(body).setProtectedHeader({ alg: keys[0].alg, kid: keys[0].kid });
  return { token: await token.sign(key) };
}

async function read(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

if (keys.length === 0) await addKey('RS256', false);
provider = build();
createServer(async (request, response) => {
  try {
    if (request.url.startsWith('/admin/')) {
      response.end(JSON.stringify(await administer(request.url, await read(request))));
    } else if (request.url.startsWith('/interaction/')) {
      await interact(request, response);
    } else {
      await provider.callback()(request, response);
    }
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error));
  }
}).listen(Number(port), '127.0.0.1');
