/** A line of numbers over time, without axes. The table beside it has the numbers. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const width = 240;
  const height = 40;
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const x = (index: number) => (index * width) / Math.max(1, values.length - 1);
  const y = (value: number) => height - 2 - (value / most) * (height - 4);
  let path = '';
  let isDrawing = false;
  for (const [index, value] of values.entries()) {
    if (value !== null) path += `${isDrawing ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    isDrawing = value !== null;
  }
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
