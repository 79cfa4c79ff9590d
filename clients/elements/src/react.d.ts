import type { CSSProperties, ReactElement, ReactNode, Ref } from "react";

import type { PlayerAttributes, SpoolPlayer as PlayerElement, SpoolPlayerEventMap } from "./player.js";
import type { SpoolUploader as UploaderElement, SpoolUploaderEventMap, UploaderAttributes, UploaderWords } from "./uploader.js";

interface Common {
  id?: string;
  className?: string;
  style?: CSSProperties;
  children?: ReactNode;
}

export interface SpoolPlayerProps extends PlayerAttributes, Common {
  elementRef?: Ref<PlayerElement>;
  /** Shows the title above the picture, as long as the controls are there. */
  showTitle?: boolean;
  onError?: (event: SpoolPlayerEventMap["spool-error"]) => void;
}

export interface SpoolUploaderProps extends Omit<UploaderAttributes, "max-bytes" | "at-once">, Common {
  elementRef?: Ref<UploaderElement>;
  maxBytes?: number;
  atOnce?: number;
  headers?: Record<string, string>;
  words?: Partial<UploaderWords>;
  onCreated?: (event: SpoolUploaderEventMap["spool-created"]) => void;
  onProgress?: (event: SpoolUploaderEventMap["spool-progress"]) => void;
  onUploaded?: (event: SpoolUploaderEventMap["spool-uploaded"]) => void;
  onError?: (event: SpoolUploaderEventMap["spool-error"]) => void;
}

export declare function SpoolPlayer(props: SpoolPlayerProps): ReactElement;
export declare function SpoolUploader(props: SpoolUploaderProps): ReactElement;
