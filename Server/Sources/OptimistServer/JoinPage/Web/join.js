// This source file is part of the Optimist open source project, under the MIT licence.

'use strict';

// The part after "#" is a secret. It stays on this page: the script requests nothing.

const find = (id) => document.getElementById(id);

function show() {
  const isComplete = location.hash.length > 1;
  find('complete').hidden = !isComplete;
  find('incomplete').hidden = isComplete;
  find('link').value = location.href;
  find('outcome').textContent = '';
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(find('link').value);
    find('outcome').textContent = 'Copied.';
  } catch { // The page came without HTTPS, or the browser does not allow it.
    find('link').select();
    find('outcome').textContent = 'The link is selected. Copy it now.';
  }
}

find('copy').addEventListener('click', copyLink);
addEventListener('hashchange', show);
show();
