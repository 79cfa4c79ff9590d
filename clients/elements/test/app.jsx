import { useState } from "react";
import { createRoot } from "react-dom/client";
import { SpoolPlayer, SpoolUploader } from "@spool-video/elements/react";

function App() {
  const [id, setId] = useState("");
  return (
    <>
      <SpoolUploader className="up" endpoint="/videos" headers={{ "X-Csrf": "a token" }} words={{ choose: "Videos wählen" }} onUploaded={({ detail }) => setId(detail.id)} />
      {id && <SpoolPlayer server={document.querySelector("#root").dataset.server} video={id} muted autoplay />}
    </>
  );
}

createRoot(document.querySelector("#root")).render(<App />);
