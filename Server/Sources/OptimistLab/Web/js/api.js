// This source file is part of the Optimist open source project, under the MIT licence.

/** The lab's control API. The page uses nothing else of the server. */

/** A failed request, with a message for the user. */
export class LabError extends Error {}

async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
    });
  } catch {
    throw new LabError('The lab does not answer. Is it still running?');
  }
  let answer = null;
  let isReadable = true;
  try {
    const text = await response.text();
    if (text) answer = JSON.parse(text);
  } catch {
    isReadable = false;
  }
  if (!response.ok) throw new LabError(answer?.message ?? `The lab answered ${response.status}.`);
  if (!isReadable) throw new LabError('The lab\'s answer is incomplete. Is it still running?');
  return answer;
}

export const lab = {
  devices: () => call('GET', '/lab/devices'),
  opening: () => call('GET', '/lab/opening'),
  heldPictures: () => call('GET', '/lab/server/pictures'),
  holdPictures: (next) => call('PUT', '/lab/server/pictures', { next }),
  publishHome: (section) => call('POST', '/lab/server/home', { section }),
  publishPose: () => call('POST', '/lab/server/poses'),
  stories: () => call('GET', '/lab/stories'),
  playStories: () => call('POST', '/lab/stories'),
  serverTodos: (account) => call('GET', `/lab/server/todos?account=${encodeURIComponent(account)}`),
  health: () => call('GET', '/health.json'),
  letPeopleCome: () => call('POST', '/lab/health/people'),
  servers: () => call('GET', '/lab/servers'),
  killServer: (number) => call('POST', `/lab/servers/${number}/kill`),
  startServer: (number) => call('POST', `/lab/servers/${number}/start`),
  failOver: () => call('POST', '/lab/database/fail-over'),
  followAs: (following) => call('PUT', '/lab/database/standby', { following }),
  replaceStandby: () => call('POST', '/lab/database/standby'),
  device: (name) => new Device(name),
  sharing: {
    phones: () => call('GET', '/lab/sharing'),
    startOver: () => call('POST', '/lab/sharing/start-over'),
    device: (name) => new SharingDevice(name),
    events: (listeners) => listen('/lab/sharing/events', listeners),
  },

  /** Receives the events of all phones. */
  events: (listeners) => listen('/lab/events', listeners),
};

/**
 * Receives the events of several devices over one connection, because a browser allows only six connections per server.
 * It reconnects automatically, and calls `opened` each time.
 */
function listen(path, { opened, timeline, changed }) {
  const source = new EventSource(path);
  source.addEventListener('open', opened);
  source.addEventListener('timeline', (event) => timeline?.(JSON.parse(event.data)));
  source.addEventListener('changed', (event) => changed(JSON.parse(event.data)));
}

class Device {
  #path;

  constructor(name) {
    this.#path = `/lab/devices/${encodeURIComponent(name)}`;
  }

  todos(date) { return call('GET', `${this.#path}/todos?date=${date}`); }
  addTodo(todo) { return call('POST', `${this.#path}/todos`, todo); }
  changeTodo(id, change) { return call('PATCH', `${this.#path}/todos/${id}`, change); }
  deleteTodo(id) { return call('DELETE', `${this.#path}/todos/${id}`); }

  outbox() { return call('GET', `${this.#path}/outbox`); }
  rejections() { return call('GET', `${this.#path}/rejections`); }
  retry(number, edits) { return call('POST', `${this.#path}/rejections/${number}/retry`, { edits }); }
  discard(number) { return call('DELETE', `${this.#path}/rejections/${number}`); }

  setNetwork(network) { return call('PUT', `${this.#path}/network`, network); }
  setOldWay(on) { return call('PUT', `${this.#path}/old-way`, { on }); }
  crash() { return call('POST', `${this.#path}/crash`); }
  /** @param by `user` or `memory`. */
  kill(by) { return call('POST', `${this.#path}/kill`, { by }); }
  restart() { return call('POST', `${this.#path}/restart`); }
  signIn() { return call('POST', `${this.#path}/sign-in`, {}); }
  signOut() { return call('POST', `${this.#path}/sign-out`); }

  shorts() { return call('GET', `${this.#path}/shorts`); }
  showShort(index) { return call('POST', `${this.#path}/shorts/visible`, { index }); }

  home() { return call('GET', `${this.#path}/home`); }
  refreshHome() { return call('POST', `${this.#path}/home/refresh`); }
  /** @param time A time such as 09:59:55. Undefined resets the clock. */
  setClock(time) { return call('PUT', `${this.#path}/clock`, { time }); }

  feed() { return call('GET', `${this.#path}/feed`); }
  filterFeed(filter) { return call('PUT', `${this.#path}/feed/filter`, filter); }
  showPoses(ids) { return call('POST', `${this.#path}/feed/visible`, { ids }); }
  refreshFeed() { return call('POST', `${this.#path}/feed/refresh`); }
  /** @param id A failed pose. Null retries everything that has failed, including pages. */
  retryPose(id) { return call('POST', `${this.#path}/feed/retry`, id ? { id } : {}); }

  loading() { return call('GET', `${this.#path}/loading`); }
  forgetLoaded() { return call('DELETE', `${this.#path}/loading`); }
  /** The URL of a picture that the phone holds, from its path on the server. */
  picture(path) { return `${this.#path}/picture?of=${encodeURIComponent(path)}`; }

  session() { return call('GET', `${this.#path}/session`); }
  expireToken() { return call('POST', `${this.#path}/session/expire`); }
  revokeSession() { return call('POST', `${this.#path}/session/revoke`); }
  signInElsewhere() { return call('POST', `${this.#path}/session/sign-in-elsewhere`); }
  /** @param provider `apple` or `google`. */
  signInWith(provider) { return call('POST', `${this.#path}/session/identity`, { provider }); }
  identities() { return call('GET', `${this.#path}/session/identities`); }
  addIdentity(provider) { return call('POST', `${this.#path}/session/identities`, { provider }); }
  removeIdentity(id) { return call('DELETE', `${this.#path}/session/identities/${encodeURIComponent(id)}`); }
  accountDevices() { return call('GET', `${this.#path}/session/devices`); }
  endSession(id) { return call('DELETE', `${this.#path}/session/devices/${encodeURIComponent(id)}`); }
  changePassword() { return call('POST', `${this.#path}/session/password`); }
  deleteAccount() { return call('POST', `${this.#path}/session/delete-account`); }
}

/** A device of a person who shares lists. A list without a space, or null, is the person's own. */
class SharingDevice {
  #path;

  constructor(name) {
    this.#path = `/lab/sharing/phones/${encodeURIComponent(name)}`;
  }

  screen() { return call('GET', `${this.#path}/screen`); }
  setNetwork(network) { return call('PUT', `${this.#path}/network`, network); }
  outbox() { return call('GET', `${this.#path}/outbox`); }
  rejections() { return call('GET', `${this.#path}/rejections`); }
  retry(number, edits) { return call('POST', `${this.#path}/rejections/${number}/retry`, { edits }); }
  discard(number) { return call('DELETE', `${this.#path}/rejections/${number}`); }

  addList(title, space) { return call('POST', `${this.#path}/lists`, { title, space }); }
  moveList(id, space) { return call('PUT', `${this.#path}/lists/${id}/space`, { space }); }
  addItem(list, content) { return call('POST', `${this.#path}/lists/${list}/items`, { content }); }
  changeItem(id, change) { return call('PATCH', `${this.#path}/items/${id}`, change); }
  deleteItem(id) { return call('DELETE', `${this.#path}/items/${id}`); }

  createSpace(name) { return call('POST', `${this.#path}/spaces`, { name }); }
  leave(space) { return call('DELETE', `${this.#path}/spaces/${space}`); }
  invite(space, role) { return call('POST', `${this.#path}/spaces/${space}/invitations`, { role }); }
  accept(code) { return call('POST', `${this.#path}/accepted`, { code }); }
  setRole(member, role) { return call('PUT', `${this.#path}/members/${member}/role`, { role }); }
  removeMember(member) { return call('DELETE', `${this.#path}/members/${member}`); }
}
