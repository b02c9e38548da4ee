// This source file is part of the Optimist open source project, under the MIT licence.

import { LabError } from './api.js';
import { coalesced, setText } from './dom.js';

/** Returns a function that runs a user's action. If it fails, it shows the reason in `notice` and returns undefined. */
export const attempting = (notice) => async (work, say = (message) => setText(notice, message)) => {
  say('');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    say(error.message);
    return undefined;
  }
};

/** Returns a function for updates in the background. They show an error only if the lab does not answer. */
export const keeping = (notice) => (work) => coalesced(async () => {
  try {
    await work();
    if (notice.dataset.lost) setText(notice, '');
    delete notice.dataset.lost;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    setText(notice, error.message);
    notice.dataset.lost = 'yes';
  }
});
