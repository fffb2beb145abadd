/** The simulated world cannot do what was asked: nobody of that name, no such message, not a member. */
export class Impossible extends Error {
  override readonly name = 'Impossible';
}
