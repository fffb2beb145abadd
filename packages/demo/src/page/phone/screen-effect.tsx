import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const playing = signal<{ readonly name: string } | undefined>(undefined);

export function playEffect(name: string): void {
  if (!matchMedia('(prefers-reduced-motion: reduce)').matches) playing.value = { name };
}

interface Particle {
  x: number;
  y: number;
  vx: number;
  vy: number;
  size: number;
  colour: string;
  turn: number;
}

const COLOURS = ['#ff4f79', '#ffc53d', '#2f8fff', '#34c38f', '#a66bff', '#ff8a3d'];
const COUNT = 90;
const DURATION_MS = 2600;

/** An animation that covers the screen of the phone. */
export function ScreenEffect() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const current = playing.value;
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (current === undefined || canvas.current === null || context === undefined || context === null)
      return undefined;
    const { clientWidth: width, clientHeight: height } = canvas.current;
    Object.assign(canvas.current, { width, height });
    const particles = Array.from({ length: COUNT }, (_, index) => launch(current.name, index, width, height));
    const started = performance.now();
    let frame = requestAnimationFrame(function draw(now) {
      context.clearRect(0, 0, width, height);
      context.globalAlpha = Math.max(0, 1 - (now - started) / DURATION_MS) ** 0.5;
      for (const particle of particles) paint(context, current.name, particle);
      if (now - started < DURATION_MS) frame = requestAnimationFrame(draw);
      else playing.value = undefined;
    });
    return () => cancelAnimationFrame(frame);
  }, [current]);
  return current === undefined ? null : <canvas class="screen-effect" ref={canvas} aria-hidden="true" />;
}

function launch(name: string, index: number, width: number, height: number): Particle {
  const base = {
    size: 4 + Math.random() * 6,
    colour: COLOURS[index % COLOURS.length] ?? '#fff',
    turn: Math.random() * 6,
  };
  if (name === 'fireworks') {
    const angle = Math.random() * Math.PI * 2;
    const speed = 1 + Math.random() * 4;
    const burst = (index % 3) + 1;
    return {
      ...base,
      x: (width * burst) / 4,
      y: height * (0.2 + burst * 0.08),
      vx: Math.cos(angle) * speed,
      vy: Math.sin(angle) * speed,
    };
  }
  const rises = name === 'balloons' || name === 'love';
  return {
    ...base,
    size: rises ? base.size * 2 : base.size,
    x: Math.random() * width,
    y: rises ? height + Math.random() * height * 0.5 : -Math.random() * height * 0.6,
    vx: (Math.random() - 0.5) * 1.5,
    vy: (rises ? -1 : 1) * (2.5 + Math.random() * 3),
  };
}

const heart = () => new Path2D('M0 9C-11 1-9-8-4-8c2 0 3 1 4 3 1-2 2-3 4-3 5 0 7 9-4 17z');

function paint(context: CanvasRenderingContext2D, name: string, particle: Particle): void {
  particle.x += particle.vx;
  particle.y += particle.vy;
  particle.turn += 0.08;
  if (name === 'fireworks') particle.vy += 0.04;
  context.save();
  context.translate(particle.x, particle.y);
  context.fillStyle = particle.colour;
  if (name === 'love') {
    context.scale(particle.size / 9, particle.size / 9);
    context.fill(heart());
  } else if (name === 'confetti') {
    context.rotate(particle.turn);
    context.fillRect(-particle.size / 2, -particle.size / 4, particle.size, particle.size / 2);
  } else {
    context.beginPath();
    context.ellipse(0, 0, particle.size / 2, (particle.size / 2) * (name === 'balloons' ? 1.25 : 1), 0, 0, 7);
    context.fill();
  }
  context.restore();
}
