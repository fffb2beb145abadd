import { render } from 'preact';

import { App } from './app.tsx';
import { startListening } from './events.ts';
import { startClock } from './time.ts';
import '@footbridge/ui/styles/tokens.css';
import './styles/layout.css';
import '@footbridge/ui/styles/controls.css';
import './styles/controls.css';
import './styles/chat.css';
import './styles/phone.css';
import './styles/wire.css';
import './styles/inbox.css';
import './styles/scenarios.css';
import './styles/tour.css';

const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
startListening();
startClock();
