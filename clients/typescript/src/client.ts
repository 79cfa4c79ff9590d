import { type Call, type Connection, Http, randomKey, segment } from "./http.js";
import type {
  AudioChange, AudioTrack, AuditAction, AuditEntry, AuditPage, Caption, Chapter, CompletedUpload, FileSource, Key, ListFilter, ManyPatch, NewAudio, NewFile, NewShare, NewVideo, Original, Pictures, Report, ResolutionName, Session, SessionPage, Share, Tag, TagPage, TenantAudience, Token, Upload, UploadTarget, Usage, Video, VideoAudience, VideoPage,
  VideoPatch, VideoState, Watermark,
} from "./types.js";
import { type UploadOptions, uploadFile } from "./upload.js";
import { type WaitOptions, waitUntilReady } from "./wait.js";
import { Webhooks } from "./webhooks.js";

/** A client of one server. Its methods throw a SpoolError. */
export class Spool {
  readonly webhooks: Webhooks;
  readonly #http: Http;

  constructor(connection: Connection) {
    this.#http = new Http(connection);
    this.webhooks = new Webhooks(this.#http);
  }

  /** Creates a video. It may be repeated: a repetition with the same idempotencyKey returns the same video. */
  create(video: NewVideo, options: Call & { idempotencyKey?: string } = {}): Promise<Upload> {
    const { idempotencyKey = randomKey(), ...call } = options;
    return this.#http.request("POST", "/api/video", { ...call, json: video, headers: { "Idempotency-Key": idempotencyKey } });
  }

  /** Uploads the file of a video, or the rest of it, and completes the upload. */
  async upload(video: UploadTarget & { id: string }, file: FileSource, options: UploadOptions = {}): Promise<CompletedUpload> {
    await uploadFile(video, file, options);
    return this.completeUpload(video.id, options.signal ? { signal: options.signal } : {});
  }

  /** Has the uploaded file checked and transcoded. */
  completeUpload(id: string, call: Call = {}): Promise<CompletedUpload> {
    return this.#video("POST", id, "/complete-upload", call);
  }

  /** Waits until a video is ready. Throws a VideoFailedError if it fails. */
  waitUntilReady(id: string, options: WaitOptions = {}): Promise<VideoState> {
    return waitUntilReady(this.#http, id, options);
  }

  /** A video, public or private. The URLs of a private one are valid for so many seconds, an hour unless you say. */
  get(id: string, options: Call & { expiresIn?: number } = {}): Promise<VideoState> {
    const { expiresIn, ...call } = options;
    return this.#video("GET", id, "", { ...call, query: { expiresIn } });
  }

  /** A public video with its URLs, which never change. */
  getPublic(id: string, call: Call = {}): Promise<Video> {
    return this.#video("GET", id, "/public", call);
  }

  /** A private video with signed URLs, which are valid for so many seconds. */
  getPrivate(id: string, expirationSeconds: number, call: Call = {}): Promise<Video> {
    return this.#video("GET", id, `/private/${expirationSeconds}`, call);
  }

  /** How a video was converted, and why. */
  report(id: string, call: Call = {}): Promise<Report> {
    return this.#video("GET", id, "/report", call);
  }

  /** All videos that fit, newest first unless the filter says otherwise. */
  async *list(filter: ListFilter = {}, call: Call = {}): AsyncGenerator<VideoState> {
    for (let cursor: string | undefined; ;) {
      const page = await this.listPage({ ...filter, ...(cursor && { cursor }) }, call);
      yield* page.videos;
      if (!page.nextCursor) return;
      cursor = page.nextCursor;
    }
  }

  /** One page of the list. A page of a search may be empty and have a next one. */
  listPage(filter: ListFilter & { cursor?: string } = {}, call: Call = {}): Promise<VideoPage> {
    const { metadata = {}, ...query } = filter;
    const labels = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, String(value)]));
    return this.#http.request("GET", "/api/video", { ...call, query: { ...query, ...labels } });
  }

  /** All tags of your videos, by name. */
  tags(call: Call = {}): AsyncGenerator<Tag> {
    return this.#pages("/api/tag", {}, call, (page: TagPage) => page.tags);
  }

  /** Changes what is said about a video. */
  patch(id: string, change: VideoPatch, call: Call = {}): Promise<VideoState> {
    return this.#video("PATCH", id, "", { ...call, json: change });
  }

  /** Changes up to 100 videos, all of them or none, and returns them. */
  async patchMany(ids: string[], change: ManyPatch, call: Call = {}): Promise<VideoState[]> {
    const { videos } = await this.#http.request<VideoPage>("PATCH", "/api/video", { ...call, json: { ...change, ids } });
    return videos;
  }

  delete(id: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, "", call);
  }

  addResolution(id: string, resolution: ResolutionName, call: Call = {}): Promise<VideoState> {
    return this.#video("POST", id, "/resolutions", { ...call, json: { resolution } });
  }

  /** Tries a failed resolution again; its id is in the resolutions of the video. */
  retry(resolutionId: string, call: Call = {}): Promise<VideoState> {
    return this.#http.request("POST", `/api/video/resolution/${segment(resolutionId)}/retry`, call);
  }

  deleteResolution(resolutionId: string, call: Call = {}): Promise<void> {
    return this.#http.request("DELETE", `/api/video/resolution/${segment(resolutionId)}`, call);
  }

  /** Adds or replaces captions: WebVTT, or SubRip with the type application/x-subrip. */
  putCaptions(
    id: string, language: string, captions: string | Blob,
    options: Call & { label?: string; kind?: "subtitles" | "captions"; contentType?: string } = {},
  ): Promise<Caption | undefined> {
    const { label, kind, contentType = "text/vtt", ...call } = options;
    return this.#video("PUT", id, `/captions/${segment(language)}`, {
      ...call, body: captions, headers: { "Content-Type": contentType }, query: { label, kind },
    });
  }

  deleteCaptions(id: string, language: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, `/captions/${segment(language)}`, call);
  }

  /** Has captions made of what is said, in a language, or in the one that the server's program finds out. */
  transcribe(id: string, options: Call & { language?: string } = {}): Promise<VideoState> {
    const { language, ...call } = options;
    return this.#video("POST", id, "/transcribe", { ...call, json: language === undefined ? {} : { language } });
  }

  /** Has the captions of a language translated into others. */
  translate(id: string, from: string, to: string[], call: Call = {}): Promise<VideoState> {
    return this.#video("POST", id, `/captions/${segment(from)}/translate`, { ...call, json: { to } });
  }

  /** Adds a sound track of any file with sound, at most 2 GiB. It does not wait until the track is made. */
  addAudio(
    id: string, file: Blob,
    options: Call & { language?: string; label?: string; kind?: AudioTrack["kind"] } = {},
  ): Promise<AudioTrack> {
    const { language, label, kind, ...call } = options;
    return this.#video("POST", id, "/audio", {
      ...call, body: file, headers: { "Content-Type": file.type || "application/octet-stream" }, query: { language, label, kind },
    });
  }

  /** Adds a sound track of the file at an address, which the server fetches itself. */
  addAudioFrom(id: string, from: NewAudio, call: Call = {}): Promise<AudioTrack> {
    return this.#video("POST", id, "/audio", { ...call, json: from });
  }

  /** Changes a sound track. With default: true, players begin with it. */
  changeAudio(id: string, trackId: string, change: AudioChange, call: Call = {}): Promise<AudioTrack> {
    return this.#video("PATCH", id, `/audio/${segment(trackId)}`, { ...call, json: change });
  }

  deleteAudio(id: string, trackId: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, `/audio/${segment(trackId)}`, call);
  }

  /** Makes a picture the poster: JPEG, PNG, WebP or AVIF, at most 10 MiB. */
  putPoster(id: string, picture: Blob, options: Call & { contentType?: string } = {}): Promise<Pictures> {
    const { contentType = picture.type, ...call } = options;
    return this.#video("PUT", id, "/poster", { ...call, body: picture, headers: { "Content-Type": contentType } });
  }

  /** Makes the frame that is shown at a time the poster. */
  putPosterTime(id: string, timeSeconds: number, call: Call = {}): Promise<Pictures> {
    return this.#video("PUT", id, "/poster", { ...call, json: { timeSeconds } });
  }

  /** Takes the automatic poster again. */
  deletePoster(id: string, call: Call = {}): Promise<Pictures> {
    return this.#video("DELETE", id, "/poster", call);
  }

  /** Replaces the chapters: a list, WebVTT, or lines such as "00:42 The second act". An empty list: the video has none. */
  async putChapters(id: string, chapters: Chapter[] | string, call: Call = {}): Promise<Chapter[]> {
    const text = typeof chapters === "string";
    const body = text
      ? { body: chapters, headers: { "Content-Type": chapters.startsWith("WEBVTT") ? "text/vtt" : "text/plain" } }
      : { json: { chapters } };
    return (await this.#video<{ chapters: Chapter[] }>("PUT", id, "/chapters", { ...call, ...body })).chapters;
  }

  deleteChapters(id: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, "/chapters", call);
  }

  /** A token with which a browser follows this one video, without the API key. */
  createToken(id: string, expiresIn = 3600, call: Call = {}): Promise<Token> {
    return this.#video("POST", id, "/token", { ...call, json: { expiresIn } });
  }

  /** The file that was uploaded: a URL that works without a key for so many seconds, an hour unless you say. */
  original(id: string, expiresIn = 3600, call: Call = {}): Promise<Original> {
    return this.#video("POST", id, "/original", { ...call, json: { expiresIn } });
  }

  /** Makes a page on which people watch a video without a key, also a private one. */
  createShare(id: string, share: NewShare = {}, call: Call = {}): Promise<Share> {
    return this.#video("POST", id, "/share", { ...call, json: share });
  }

  /** The shares of a video, newest first. */
  async shares(id: string, call: Call = {}): Promise<Share[]> {
    return (await this.#video<{ shares: Share[] }>("GET", id, "/share", call)).shares;
  }

  deleteShare(id: string, shareId: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, `/share/${segment(shareId)}`, call);
  }

  /** Adds a picture that can be laid over videos: PNG or WebP, at most 2 MiB. */
  addWatermark(picture: Blob, options: Call & { name?: string; contentType?: string } = {}): Promise<Watermark> {
    const { name, contentType = picture.type, ...call } = options;
    return this.#http.request("POST", "/api/watermark", { ...call, body: picture, headers: { "Content-Type": contentType }, query: { name } });
  }

  /** Your watermarks, oldest first. */
  async watermarks(call: Call = {}): Promise<Watermark[]> {
    return (await this.#http.request<{ watermarks: Watermark[] }>("GET", "/api/watermark", call)).watermarks;
  }

  /** Deletes a watermark. Videos that have it keep it. */
  deleteWatermark(id: string, call: Call = {}): Promise<void> {
    return this.#http.request("DELETE", `/api/watermark/${segment(id)}`, call);
  }

  /** What was watched of all your videos; the last 30 days unless you say. */
  audience(options: Call & { from?: Date; to?: Date } = {}): Promise<TenantAudience> {
    const { from, to, ...call } = options;
    return this.#http.request("GET", "/api/audience", { ...call, query: { from: from?.toISOString(), to: to?.toISOString() } });
  }

  /** What was watched of a video. */
  videoAudience(id: string, options: Call & { from?: Date; to?: Date } = {}): Promise<VideoAudience> {
    const { from, to, ...call } = options;
    return this.#video("GET", id, "/audience", { ...call, query: { from: from?.toISOString(), to: to?.toISOString() } });
  }

  /** Who changed what, newest first. */
  audit(filter: { actor?: string; action?: AuditAction } = {}, call: Call = {}): AsyncGenerator<AuditEntry> {
    return this.#pages("/api/audit", filter, call, (page: AuditPage) => page.entries);
  }

  /** Who is signed in, newest first. */
  sessions(call: Call = {}): AsyncGenerator<Session> {
    return this.#pages("/api/session", {}, call, (page: SessionPage) => page.sessions);
  }

  /** Signs somebody out. */
  endSession(id: string, call: Call = {}): Promise<void> {
    return this.#http.request("DELETE", `/api/session/${segment(id)}`, call);
  }

  /** Has a video wait for another file, which upload() sends. The video keeps its ID and its URLs. */
  replace(id: string, file: NewFile, options: Call & { idempotencyKey?: string } = {}): Promise<Upload> {
    const { idempotencyKey = randomKey(), ...call } = options;
    return this.#video("POST", id, "/replace", { ...call, json: file, headers: { "Idempotency-Key": idempotencyKey } });
  }

  /** Gives up to replace the file of a video. */
  giveUpReplace(id: string, call: Call = {}): Promise<void> {
    return this.#video("DELETE", id, "/replace", call);
  }

  /** Tries again to fetch the file of a video that was created with sourceUrl. */
  retryImport(id: string, call: Call = {}): Promise<VideoState> {
    return this.#video("POST", id, "/import", call);
  }

  /** What your API key may do, and what the server accepts. */
  key(call: Call = {}): Promise<Key> {
    return this.#http.request("GET", "/api/key", call);
  }

  /** What your tenant uses and may use. */
  usage(call: Call = {}): Promise<Usage> {
    return this.#http.request("GET", "/api/usage", call);
  }

  /** What all pages of a list have. */
  async *#pages<Page extends { nextCursor?: string }, T>(path: string, filter: object, call: Call, of: (page: Page) => T[]): AsyncGenerator<T> {
    for (let cursor: string | undefined; ;) {
      const page: Page = await this.#http.request("GET", path, { ...call, query: { ...filter, limit: 100, cursor } });
      yield* of(page);
      if (!page.nextCursor) return;
      cursor = page.nextCursor;
    }
  }

  #video<T>(method: string, id: string, rest: string, options: Parameters<Http["request"]>[2]): Promise<T> {
    return this.#http.request<T>(method, `/api/video/${segment(id)}${rest}`, options);
  }
}
