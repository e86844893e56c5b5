/** `fetch` as the signed-in person: the token, one more try with a new one, and one with the second factor. */

import { UnreachableError } from '@/api/problem';
import { hear } from './clock';
import { reach } from './reach';
import { accessToken, refresh } from './session';
import { asksForStepUp, stepUp } from './stepUp';

async function send(request: Request, token: string | undefined): Promise<Response> {
  const copy = new Request(request.clone());
  if (token) copy.headers.set('authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(copy);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    reach.set('away');
    throw new UnreachableError(cause);
  }
  hear(response.headers.get('date'));
  reach.set(response.status === 503 ? 'away' : 'here');
  return response;
}

export async function authorized(request: Request): Promise<Response> {
  const response = await renewed(request);
  if (!(await asksForStepUp(response)) || !(await stepUp())) return response;
  return renewed(request);
}

async function renewed(request: Request): Promise<Response> {
  const response = await send(request, await accessToken());
  if (response.status !== 401) return response;
  const token = await refresh();
  return token ? send(request, token) : response;
}
