// This source file is part of the Optimist open source project, under the MIT licence.

import { AccountFold } from './account.js';
import { coalesced, el, setText } from './dom.js';
import { clockTime, sessionStates, signOutReasons, span } from './format.js';

/** The session of one phone: its state, the age of its token, and events from elsewhere. */
export class SessionPanel {
  #api;
  #attempt;
  #session = null;
  #isEntering = false;  // Whether the user signs in with the button on the phone's screen.
  #read = 0;  // When the session was loaded, for the age of its token.
  #state = el('span', { class: 'count session-state' });
  #account = el('dd');
  #token = el('dd');
  #refreshes = el('dd');
  #facts = el('dl', {},
    el('div', {}, el('dt', {}, 'Account'), this.#account),
    el('div', {}, el('dt', {}, 'Token'), this.#token),
    el('div', {}, el('dt', {}, 'Refreshes'), this.#refreshes));
  #note = el('p', { class: 'note', role: 'status', 'aria-live': 'polite' });
  #entry = el('button', { type: 'button', onclick: () => this.#enterOrLeave() });
  #apple = el('button', {
    type: 'button', class: 'wide', title: 'Apple vouches for the user of this phone. The server makes an account for a new identity.',
    onclick: () => this.#attempt(() => this.#api.signInWith('apple')),
  }, 'Sign in with Apple (simulated)');
  #ends;
  #why = el('p');
  #accountFold;

  constructor(name, api, attempt) {
    this.#api = api;
    this.#attempt = attempt;
    this.#ends = [
      this.#end('Expire token', 'The server refuses the token that this phone holds.', () => api.expireToken()),
      this.#end('Revoke', 'An operator ends this session on the server.', () => api.revokeSession()),
      this.#end('Sign in elsewhere', 'Another device takes the place of this phone.', () => api.signInElsewhere()),
    ];
    this.#accountFold = new AccountFold(name, api, attempt, () => this.#session && !this.#isSignedOut);
    this.element = el('section', { class: 'panel session', 'aria-label': `Session of phone ${name}` },
      el('div', { class: 'heading' }, el('h3', {}, 'Session'), this.#state),
      this.#facts,
      this.#note,
      el('div', { class: 'buttons', role: 'group', 'aria-label': `What happens to the session of phone ${name}` },
        ...this.#ends, this.#entry, this.#apple),
      this.#accountFold.element);
    /** Shown on every screen of the phone after a sign-out. */
    this.banner = el('div', { class: 'banner', hidden: true },
      this.#why,
      el('button', { type: 'button', class: 'primary', onclick: () => this.#enterAgain() }, 'Sign in again'));
    setInterval(() => { if (!document.hidden) this.#showAge(); }, 1000);
  }

  refresh = coalesced(async () => {
    const session = await this.#api.session().catch(() => null);
    if (!session) return;
    this.#session = session;
    this.#read = performance.now();
    this.#show(session);
  });

  get #isSignedOut() { return this.#session?.state === 'signedOut'; }

  /** A button that ends something. It is never removed or disabled, so that it keeps the focus. */
  #end(words, title, work) {
    return el('button', {
      type: 'button', title,
      onclick: (event) => {
        if (event.currentTarget.getAttribute('aria-disabled') === 'true') return undefined;
        return this.#attempt(work);
      },
    }, words);
  }

  #show(session) {
    const { state, account, refreshes, token } = session;
    this.#state.dataset.state = state;
    setText(this.#state, sessionStates[state] ?? state);
    this.#facts.hidden = !token;
    setText(this.#account, account || 'without an address');
    setText(this.#refreshes, String(refreshes));
    setText(this.#note, note(session));
    this.#note.hidden = !this.#note.textContent;
    for (const button of this.#ends) button.setAttribute('aria-disabled', String(!token));
    setText(this.#entry, this.#isSignedOut ? 'Sign in' : 'Sign out');
    this.#apple.hidden = !this.#isSignedOut;
    setText(this.#why, `${reason(session)} Your changes are kept, and sent after you sign in.`);
    this.banner.hidden = !this.#isSignedOut;
    if (this.#isEntering && this.banner.hidden) {
      this.#isEntering = false;
      this.#entry.focus();  // The pressed button is hidden with the banner.
    }
    this.#showAge();
  }

  #showAge() {
    const token = this.#session?.token;
    if (!token) return;
    const life = span(new Date(token.ends) - new Date(token.issued));
    setText(this.#token, `${span(token.ageMs + performance.now() - this.#read)} old, of ${life}`);
  }

  #enterOrLeave() {
    return this.#attempt(() => (this.#isSignedOut ? this.#api.signIn() : this.#api.signOut()));
  }

  async #enterAgain() {
    this.#isEntering = true;
    if (!await this.#attempt(() => this.#api.signIn())) this.#isEntering = false;
    await this.refresh();
  }
}

/** Returns the most important fact about a session, if any. */
function note(session) {
  const { state, token, endedOnServer, nextRefresh } = session;
  if (state === 'signedOut') return reason(session);
  if (endedOnServer) return 'The server has ended this session. The phone learns this with its next request.';
  if (state === 'degraded') return `The token refresh failed. The phone stays signed in, and tries again at ${clockTime(nextRefresh)}.`;
  if (token?.refused && state !== 'refreshing') return 'The server refuses this token. The next request refreshes it.';
  return '';
}

function reason({ lastSignOut }) {
  const code = lastSignOut?.reason ?? 'never_signed_in';
  return signOutReasons[code] ?? `The server has ended the session: ${code}.`;
}
