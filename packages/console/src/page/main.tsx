import { render } from 'preact';

import { App } from './app.tsx';
import { startSession } from './session.ts';
import '@footbridge/ui/styles/tokens.css';
import '@footbridge/ui/styles/controls.css';
import './styles/console.css';
import './styles/tenants.css';
import './styles/messages.css';
import './styles/setup.css';
import './styles/issues.css';
import './styles/overview.css';

const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
void startSession();
