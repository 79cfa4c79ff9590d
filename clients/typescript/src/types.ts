// The words of the API. What docs/openapi.json describes comes from there; members that older
// servers do not have are optional.

import type { components } from "./openapi.gen.js";

type Schemas = components["schemas"];

export type VideoStatus = Schemas["VideoStatus"];
export type ResolutionName = Schemas["ResolutionName"];
export type Failure = Schemas["Failure"];
export type Report = Schemas["Report"];
export type Usage = Schemas["OwnUsage"];
/** What an API key may do, and what the server accepts. */
export type Key = Schemas["Key"];
export type Watermark = Schemas["Watermark"];
export type TenantAudience = Schemas["TenantAudience"];
export type VideoAudience = Schemas["VideoAudience"];
export type AuditEntry = Schemas["AuditEntry"];
export type AuditAction = Schemas["ListAuditAction"];
export type AuditPage = Schemas["AuditList"];
export type Session = Schemas["Session"];
export type SessionPage = Schemas["SessionList"];
export type Problem = Schemas["Problem"];
export type Fault = Schemas["Fault"];
export type Resolution = Schemas["Resolution"];
export type ResolutionState = Schemas["ResolutionState"];
/** A sound track of a video. */
export type AudioTrack = Schemas["AudioTrack"];
export type NewAudio = Schemas["NewAudio"];
export type AudioChange = Schemas["AudioChange"];
export type CompletedUpload = Schemas["CompletedUpload"];

/** What every view of a video may have beside its described members. */
interface Extras {
  /** The title that pages show. */
  title?: string;
  /** Whether hlsUrl and dashUrl play from the beginning now. */
  playable?: boolean;
  /** When the file was replaced last. */
  replacedAt?: string;
  /** What viewers can choose to hear. */
  audioTracks?: AudioTrack[];
  /** The sound of the default track alone. */
  audioUrl?: string;
  captions?: Caption[];
  tags?: string[];
  /** When the video is deleted; absent: never. */
  expiresAt?: string;
  /** Any frame as a picture: add ?time=SECONDS&width=&height=&fit=contain|cover&format=webp. */
  thumbnailUrl?: string;
  chapters?: Chapter[];
  /** The chapters as WebVTT. */
  chaptersUrl?: string;
  /** The file that will replace this one, or that failed to. */
  replacement?: Replacement;
}

/** A file on its way to a video, whose file it will replace. */
export interface Replacement {
  status: VideoStatus;
  progress: number;
  failure?: Failure;
}

/** The file that replaces the file of a video. What is not said stays as it was. */
export interface NewFile {
  filename?: string;
  resolutions?: ResolutionName[];
  /** Spool fetches the file from here; there is nothing to upload then. */
  sourceUrl?: string;
  thumbnailTimestampsSeconds?: number[];
  codecs?: ("h264" | "av1" | "hevc")[];
  upscale?: boolean;
  /** A file with sound and no picture will do. */
  acceptAudio?: boolean;
  copySource?: "never" | "auto";
  /** normalize: all sound tracks are equally loud. */
  loudness?: "keep" | "normalize";
  maxDurationSeconds?: number;
  /** The part of the file to make; absent: all of it. */
  trim?: { startSeconds?: number; endSeconds?: number };
}

/** A video to create. */
export type NewVideo = Schemas["NewVideo"] & {
  title?: string;
  /** Spool fetches the file from here; there is nothing to upload then. */
  sourceUrl?: string;
  codecs?: ("h264" | "av1" | "hevc")[];
  /** A file with sound and no picture (mp3, m4a, flac, …) will do: its cover or waveform is the picture. */
  acceptAudio?: boolean;
  /** auto: the resolution at the size of the file is the picture of the file, where that plays everywhere as it is. */
  copySource?: "never" | "auto";
  /** normalize: all sound tracks are equally loud; keep: as in the file. Absent: the server's setting. */
  loudness?: "keep" | "normalize";
  /** A longer video fails before anything is made of it. */
  maxDurationSeconds?: number;
  /** When the video is deleted, such as 2030-05-01T12:00:00Z. */
  expiresAt?: string | null;
  /** Words by which videos are found again: up to 50 of up to 64 characters. */
  tags?: string[];
};

/** A video. Only get() has all URLs; a list has the URLs of pictures, and events have none. */
export type VideoState = Schemas["VideoState"] & Extras & { importProgress?: number };

/** A video with the URLs of its files. */
export type Video = Schemas["Video"] & Extras & {
  storyboardUrl?: string;
  previewUrl?: string;
  embedUrl?: string;
  watchUrl?: string;
};

/** A video that waits for its file. */
export type Upload = Schemas["Upload"];

/** A file to upload: a Blob or File of a browser, or what openFile of `@spool-video/client/node` returns. */
export interface FileSource {
  readonly size: number;
  slice(start: number, end: number, type?: string): Blob | Promise<Blob>;
  /** Sends a part as the body of a request. Without it, a slice is sent. */
  sendPart?(request: PartRequest): Promise<Answer>;
}

/** A request whose body is a part of a file. */
export interface PartRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  start: number;
  end: number;
  signal?: AbortSignal | undefined;
  /** Called with the number of bytes of the part that were sent. */
  sent?: ((bytes: number) => void) | undefined;
}

/** The part of an answer that an upload looks at. */
export interface Answer {
  status: number;
  header(name: string): string | null;
}

/** What an upload needs: the answer to create, or the part of it that you hand to a browser. */
export interface UploadTarget {
  /** Absent where the server fetches the file itself. */
  uploadUrl?: string;
  contentType: string;
  tusUrl?: string;
  maxUploadBytes?: number;
}

export interface VideoPatch {
  title?: string;
  /** Replaces all metadata; null removes it. */
  customMetadata?: Record<string, unknown> | null;
  /** Its files move; all earlier URLs are dead then, and the answer has the new ones. */
  isPublic?: boolean;
  /** The sites on which it may be played, such as example.com and *.example.org; null: everywhere; empty: only in the server's own pages. */
  allowedOrigins?: string[] | null;
  /** Requests that name no site may play it, too: apps, native players, downloads. */
  allowNoOrigin?: boolean;
  /** Replaces all tags; null removes them. */
  tags?: string[] | null;
  /** When the video is deleted; null: never. */
  expiresAt?: string | null;
}

/** A change of many videos. */
export interface ManyPatch {
  tags?: { add?: string[]; remove?: string[] };
  /** When the videos are deleted; null: never. */
  expiresAt?: string | null;
}

/** A tag, and how many videos have it. */
export interface Tag {
  tag: string;
  videos: number;
}

export interface TagPage {
  tags: Tag[];
  nextCursor?: string;
}

export interface VideoPage {
  videos: VideoState[];
  nextCursor?: string;
}

export interface ListFilter {
  status?: VideoStatus;
  /** Only videos whose customMetadata has these values. */
  metadata?: Record<string, string | number | boolean>;
  /** Only videos with all of these tags. */
  tag?: string | string[];
  /** What they are ordered by; createdAt if absent. */
  sort?: "createdAt" | "title" | "duration" | "size";
  /** Which end comes first. Absent: titles from A to Z, and the newest, longest or largest first. */
  order?: "asc" | "desc";
  /** Videos for each request, 1 to 100. */
  limit?: number;
}

export interface Caption {
  language: string;
  label?: string;
  kind?: string;
  source?: string;
  url?: string;
}

export interface NewShare {
  /** For you; visitors do not see it. */
  label?: string;
  /** Absent: never. */
  expiresAt?: string;
  password?: string;
  /** The page offers the largest file. */
  download?: boolean;
}

export interface Share {
  id: string;
  /** A secret: it opens the video. */
  url: string;
  label: string;
  createdAt: string;
  expiresAt: string | null;
  hasPassword: boolean;
  download: boolean;
}

export interface Original {
  url: string;
  expiresAt: string;
  filename: string;
  sizeBytes: number;
  sha256: string | null;
}

/** The URLs of the pictures of a video. */
export interface Pictures {
  posterUrl?: string;
  thumbnailUrl?: string;
  storyboardUrl?: string;
  previewUrl?: string;
}

/** A part of a video with a title. It ends where the next one begins. */
export interface Chapter {
  startSeconds: number;
  /** Told by the server; absent while the length of the video is not known. */
  endSeconds?: number;
  title: string;
}

export interface Token {
  token: string;
  expiresAt: string;
}

export type WebhookEventType =
  | "video.upload_completed" | "video.playable" | "video.resolution_ready" | "video.ready"
  | "video.failed" | "video.expiring" | "video.deleted" | "video.replaced" | "video.replace_failed" | "webhook.test";

/** The body of a webhook. */
export interface WebhookEvent {
  type: WebhookEventType;
  timestamp: string;
  data: VideoState & { resolution?: ResolutionName; reason?: "expired" };
}

export interface Webhook {
  id: string;
  url: string;
  /** The types that are sent; empty: all. */
  events: string[];
  description?: string;
  enabled: boolean;
  createdAt: string;
}

export interface NewWebhook {
  url: string;
  events?: WebhookEventType[];
  description?: string;
}

export interface WebhookPatch extends Partial<NewWebhook> {
  enabled?: boolean;
}

export type DeliveryState = "pending" | "delivered" | "failed";

export interface Delivery {
  id: string;
  eventId: string;
  type: string;
  videoId?: string;
  state: DeliveryState;
  attempts: { at: string; status?: number; error?: string; milliseconds?: number }[];
  nextAttemptAt?: string | null;
}
