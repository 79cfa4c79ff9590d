/** What your route answers to create: the answer of Spool, or the part of it that the upload needs. */
export interface CreatedVideo {
  id: string;
  uploadUrl?: string;
  contentType: string;
  tusUrl?: string;
  maxUploadBytes?: number;
}

/** The attributes of `<spool-uploader>`; the README describes them. */
export interface UploaderAttributes {
  /** URL of your own route. */
  endpoint: string;
  /** As of `<input type="file">`; absent: videos. */
  accept?: string;
  /** One file at a time is chosen, and not several. */
  single?: boolean;
  disabled?: boolean;
  /** Larger files are refused at once. */
  "max-bytes"?: number | string;
  /** How many files are sent at the same time; 2 if absent. */
  "at-once"?: number | string;
}

/** What the uploader says. {names} in braces are filled in. */
export interface UploaderWords {
  choose: string; chooseOne: string; drop: string; dropOne: string; list: string;
  waiting: string; preparing: string; uploading: string; paused: string; finishing: string; done: string; failed: string; cancelled: string;
  refusedType: string; refusedSize: string;
  pause: string; resume: string; cancel: string; retry: string; remove: string;
  progressOf: string; said: string;
}

/** The id is null while there is no video yet. */
export interface UploadDetail { id: string | null; file: File }

export interface SpoolUploaderEventMap extends HTMLElementEventMap {
  "spool-created": CustomEvent<UploadDetail & { video: CreatedVideo }>;
  "spool-progress": CustomEvent<UploadDetail & { sent: number; total: number }>;
  "spool-uploaded": CustomEvent<UploadDetail & { id: string; video: CreatedVideo }>;
  /** message is a sentence for a person, which the list shows as well. */
  "spool-error": CustomEvent<UploadDetail & { code: string; message: string }>;
}

export declare class SpoolUploader extends HTMLElement {
  /** Sent with every request to your route, such as a token against forged requests. */
  headers: Record<string, string>;
  /** What it says, where that is not English. */
  words: Partial<UploaderWords>;
  /** Whether files are being uploaded, or wait. */
  readonly busy: boolean;
  add(files: Iterable<File>): void;
  pauseAll(): void;
  resumeAll(): void;
  addEventListener<K extends keyof SpoolUploaderEventMap>(type: K, listener: (this: SpoolUploader, event: SpoolUploaderEventMap[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "spool-uploader": SpoolUploader;
  }
}
