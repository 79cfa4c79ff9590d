// Command oapi sends a film through Spool with the client that oapi-codegen generates from
// docs/openapi.json: create, upload, complete, ready.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../../../docs/openapi.json

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := NewClientWithResponses(os.Getenv("SPOOL"), WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-KEY", os.Getenv("KEY"))
		return nil
	}))
	if err != nil {
		return err
	}
	created, err := client.CreateVideoWithResponse(ctx, nil, NewVideo{Filename: "a.mp4", Resolutions: []ResolutionName{"144p"}})
	if err != nil || created.JSON201 == nil {
		return fmt.Errorf("create: %v %s", err, created.Body)
	}
	video := created.JSON201
	if err := put(ctx, video); err != nil {
		return err
	}
	done, err := client.CompleteUploadWithResponse(ctx, video.Id, Completion{})
	if err != nil || done.JSON201 == nil {
		return fmt.Errorf("complete: %v %s", err, done.Body)
	}
	for status := VideoStatus("processing"); status == "processing"; time.Sleep(200 * time.Millisecond) {
		state, err := client.GetVideoWithResponse(ctx, video.Id)
		if err != nil || state.JSON200 == nil {
			return fmt.Errorf("get: %v %s", err, state.Body)
		}
		status = state.JSON200.Status
	}
	ready, err := client.GetPrivateVideoWithResponse(ctx, video.Id, 60)
	if err != nil || ready.JSON200 == nil {
		return fmt.Errorf("get: %v %s", err, ready.Body)
	}
	fmt.Println(ready.JSON200.Status, ready.JSON200.Resolutions["144p"].Status, "number")
	return nil
}

func put(ctx context.Context, video *Upload) error {
	clip, err := os.Open(os.Getenv("CLIP"))
	if err != nil {
		return err
	}
	defer clip.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, *video.UploadUrl, clip)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", video.ContentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("PUT answers %s", res.Status)
	}
	return nil
}
