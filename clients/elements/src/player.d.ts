/** The attributes of `<spool-player>`; the README describes them. */
export interface PlayerAttributes {
  /** URL of a read as JSON: `embedUrl` with `.json` behind it, or a route of yours that answers with a private read. */
  src?: string;
  /** Id of a video: a public one, or with `token` a private one. */
  video?: string;
  /** The signed part of the `embedUrl` of a private video. */
  token?: string;
  /** URL of Spool; absent: the server of the page. */
  server?: string;
  autoplay?: boolean;
  muted?: boolean;
  loop?: boolean;
  /** Begins here, in seconds, and not where this viewer stopped. */
  start?: number | string;
  /** Language of the captions that are shown from the start, such as "en". */
  captions?: string;
  /** Shows the picture alone. */
  nocontrols?: boolean;
  /** Loads the first seconds before anybody presses play. */
  eager?: boolean;
  /** Offers Chromecast, and loads Google's program for it; a text is the id of a receiver. */
  chromecast?: boolean | string;
}

export declare class SpoolPlayer extends HTMLElement {
  /** The video element inside. */
  readonly media: HTMLVideoElement;
  /** Plays from a position on, also before anything was loaded. */
  goTo(seconds: number): void;
  /** Loads again, at the same position. */
  reload(play?: boolean): void;
  addEventListener<K extends keyof SpoolPlayerEventMap>(type: K, listener: (this: SpoolPlayer, event: SpoolPlayerEventMap[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

export interface SpoolPlayerEventMap extends HTMLElementEventMap {
  /** It has given up; message is a sentence for a person. */
  "spool-error": CustomEvent<{ message: string }>;
}

/** What is said, beside the player of the page. */
export declare class SpoolTranscript extends HTMLElement {
  player: SpoolPlayer | null;
}

declare global {
  interface HTMLElementTagNameMap {
    "spool-player": SpoolPlayer;
    "spool-transcript": SpoolTranscript;
  }
}
