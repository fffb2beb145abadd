// What this bridge uses of Express 5, which ships no types of its own.
declare module 'express' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export interface Request extends IncomingMessage {
    readonly body: unknown;
    readonly path: string;
    readonly ip: string | undefined;
    header(name: string): string | undefined;
  }
  export interface Response extends ServerResponse {
    status(code: number): this;
    json(body: unknown): this;
    readonly locals: Record<string, unknown>;
  }
  export type NextFunction = (error?: unknown) => void;
  export type RequestHandler = (request: Request, response: Response, next: NextFunction) => unknown;
  export type ErrorHandler = (
    error: unknown,
    request: Request,
    response: Response,
    next: NextFunction,
  ) => unknown;

  interface Application extends RequestListener {
    disable(setting: string): void;
    use(handler: RequestHandler | ErrorHandler): void;
    post(paths: readonly string[], ...handlers: RequestHandler[]): void;
  }
  function express(): Application;
  namespace express {
    function json(options: {
      limit: string;
      verify(request: IncomingMessage, response: ServerResponse, raw: Buffer): void;
    }): RequestHandler;
  }
  export default express;
}
