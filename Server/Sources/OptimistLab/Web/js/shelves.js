// This source file is part of the Optimist open source project, under the MIT licence.

/**
 * Returns what a device shows: each space with its members, open links, lists and to-dos, then the person's own lists
 * with the id `own`.
 */
export function shelvesOf({ spaces, members, invitations, lists, items }, person) {
  const known = new Set(spaces.map(({ id }) => id));
  const filled = (some) => some.map((list) => ({ ...list, items: items.filter((item) => item.list === list.id) }));
  const shelves = spaces.map((space) => {
    const inside = members.filter((member) => member.space === space.id);
    return {
      id: space.id,
      name: space.name ?? nameless(invitations.filter((link) => link.space === space.id), inside),
      role: space.role ?? (space.isJoined ? '' : 'joining'),
      mayWrite: space.mayWrite,
      people: space.isJoined ? names(inside) : 'Waits for the server.',
      members: inside,
      links: invitations.filter(({ space: of, code, isUsed }) => of === space.id && code && !isUsed),
      lists: filled(lists.filter((list) => list.space === space.id)),
    };
  });
  shelves.sort((one, other) => one.name.localeCompare(other.name));
  return [...shelves, {
    id: 'own', name: `Only ${person}`, role: '', mayWrite: true, people: '', members: [], links: [],
    lists: filled(lists.filter((list) => !known.has(list.space))),
  }];
}

/** The name of a space that the person has not named: the name on its links, or else its owner's. */
function nameless(links, members) {
  const label = links.find((link) => link.label)?.label;
  if (label) return label;
  const owner = members.find(({ role, isMe }) => role === 'owner' && !isMe);
  return owner ? `${owner.name}’s space` : 'A shared space';
}

const names = (members) => members.map(({ name, isMe }) => (isMe ? `${name} (you)` : name ?? 'someone')).join(', ');
