// This source file is part of the Optimist open source project, under the MIT licence.

import { server } from './api.js';
import { el, figures, id, panel, table, time } from './dom.js';

const kinds = { space: 'of its members', public: 'public' };

/** What each event of the audit means. The subject and the detail follow. */
const events = {
  founded: 'founded, first owner', invited: 'invitation made', changedInvitation: 'invitation changed',
  revoked: 'invitation revoked', joined: 'joined with the invitation', admitted: 'made a member', role: 'role changed',
  removed: 'removed', left: 'left', movedIn: 'rows moved in from', movedOut: 'rows moved out to', ended: 'ended',
  refused: 'rows refused',
};

const quota = (space) => `${space.rows} of ${space.maxRows}`;
const account = (person) => el('a', { class: 'id', href: `#/accounts/${encodeURIComponent(person)}` }, person);

/** The spaces, in the order of their ids. */
export async function spaces(_, query) {
  const page = await server.spaces(query.get('after'));
  const rows = page.spaces.map((space) => [
    el('a', { class: 'id', href: `#/spaces/${space.space}` }, space.space), kinds[space.kind] ?? space.kind,
    String(space.members), quota(space), String(space.seq),
  ]);
  const next = page.next && el('a', { href: `#/spaces?${new URLSearchParams({ after: page.next })}` }, 'Next page');
  return {
    title: 'Spaces',
    content: [
      panel('Spaces',
        rows.length ? table('Spaces', ['Id', 'Kind', 'Members', 'Rows', 'Transactions'], rows)
          : el('p', { class: 'faint' }, 'There are no spaces.'),
        next),
    ],
  };
}

/** A space with its members and its audit. */
export async function space([spaceID], query) {
  const found = await server.space(spaceID, query.get('before'));
  const people = found.people.map((member) => [account(member.person), member.role, String(member.joinedSeq)]);
  const audit = found.events.map((event) => [
    time(event.time), events[event.what] ?? event.what, event.subject && id(event.subject), event.detail,
    event.person ? account(event.person) : 'the operator', event.device && id(event.device),
  ]);
  const next = found.next
    && el('a', { href: `#/spaces/${spaceID}?${new URLSearchParams({ before: found.next })}` }, 'Older events');
  return {
    title: `Space ${found.space}`,
    content: [
      panel(`Space ${found.space}`, figures([
        ['Kind', kinds[found.kind] ?? found.kind], ['Rows', quota(found)], ['Transactions', String(found.seq)],
      ])),
      panel('Members', people.length
        ? table('Members', ['Person', 'Role', 'Member since transaction'], people)
        : el('p', { class: 'faint' }, 'The space has no members.')),
      panel('Audit', audit.length
        ? table('Audit', ['Time', 'Event', 'Person, invitation or account', 'Detail', 'By', 'Device'], audit)
        : el('p', { class: 'faint' }, 'There are no events.'), next),
    ],
  };
}
