// This source file is part of the Optimist open source project, under the MIT licence.

/** The operator's API. Its only change is to end a session. */

/** A failed request, with a message to show. */
export class AdminError extends Error {}

async function call(method, path, query = {}) {
  const url = new URL(`/admin/api${path}`, location.href);
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  const isPost = method === 'POST';
  let response;
  try {
    response = await fetch(url, {
      method, cache: 'no-store',
      headers: isPost ? { 'Content-Type': 'application/json' } : {}, body: isPost ? '{}' : undefined,
    });
  } catch {
    throw new AdminError('The server does not answer. Is it still running?');
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new AdminError(answer?.detail ?? `The server answered ${response.status}.`);
  if (!answer) throw new AdminError('The answer from the server is incomplete.');
  return answer;
}

const part = encodeURIComponent;

export const server = {
  overview: () => call('GET', '/overview'),
  refusals: () => call('GET', '/refusals'),
  keys: () => call('GET', '/keys'),
  webhooks: () => call('GET', '/webhooks'),
  accounts: (prefix, after) => call('GET', '/accounts', { prefix, after }),
  account: (id) => call('GET', `/accounts/${part(id)}`),
  spaces: (after) => call('GET', '/spaces', { after }),
  space: (id, before) => call('GET', `/spaces/${part(id)}`, { before }),
  rows: (account, query) => call('GET', `/accounts/${part(account)}/rows`, query),
  endSession: (account, session) => call('POST', `/accounts/${part(account)}/sessions/${part(session)}/end`),
};
