/** What the API says when it does not do what was asked, as something to throw. */

import type { Schemas } from './client';

export interface ProblemBody {
  title: string;
  status: number;
  code: string;
  detail: string;
  advice: string;
  correlation_id: string;
  field?: string | null;
  /** With `mfa_required`: what to answer with a second factor. */
  challenge?: Schemas['MfaChallenge'] | null;
}

export class ProblemError extends Error {
  readonly problem: ProblemBody;

  constructor(problem: ProblemBody) {
    super(problem.detail || problem.title);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

/** The server was not reached at all. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('unreachable', { cause });
    this.name = 'UnreachableError';
  }
}

/** A page was never loaded, and now it cannot be: the server is away. */
export class PageAwayError extends UnreachableError {}

function isProblem(value: unknown): value is ProblemBody {
  return typeof value === 'object' && value !== null && 'code' in value && 'correlation_id' in value;
}

export function problemOf(error: unknown): ProblemBody | undefined {
  return error instanceof ProblemError ? error.problem : undefined;
}

/** What a sign-in asks for beside a password. */
export function challengeOf(error: unknown): Schemas['MfaChallenge'] | undefined {
  return problemOf(error)?.challenge ?? undefined;
}

/** Whether trying the same again may help: not while the answer is a refusal. */
export function mayPass(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  const problem = problemOf(error);
  return problem !== undefined && problem.status >= 500;
}

/** What an error answer holds, also when something between us and the API wrote it. */
export function toError(body: unknown, response: Response): Error {
  if (isProblem(body)) return new ProblemError(body);
  return new ProblemError({
    title: response.statusText || 'Unexpected response',
    status: response.status,
    code: `http_${response.status}`,
    detail: `The server answered ${response.status} without an explanation.`,
    advice: 'Try again. If the problem persists, send the correlation ID to your platform operator.',
    correlation_id: response.headers.get('x-correlation-id') ?? 'unknown',
  });
}
