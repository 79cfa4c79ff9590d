package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/spool-video/spool/client"
)

// Upload a film and wait until it can be watched.
func ExampleClient_UploadFile() {
	ctx := context.Background()
	c, err := client.New(os.Getenv("SPOOL_SERVER"), os.Getenv("SPOOL_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	v, err := c.UploadFile(ctx, "film.mp4", client.NewVideo{
		Resolutions: []string{"240p", "144p"},
		Metadata:    client.Metadata{"album": "holiday"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err = c.Wait(ctx, v.ID, nil); err != nil {
		log.Fatal(err)
	}
	v, err = c.Video(ctx, v.ID, time.Hour) // its URLs are valid for an hour
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Status, v.Names(), v.Resolutions["144p"].VideoURL != "")
	// Output: ready [240p 144p] true
}

// Show the progress of an upload that goes on where it was, also after a restart of this program: the
// IdempotencyKey is one that the program finds again, such as the ID of the film in its own database.
func ExampleClient_Upload() {
	ctx := context.Background()
	c, err := client.New(os.Getenv("SPOOL_SERVER"), os.Getenv("SPOOL_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Open("film.mp4")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	var percent int64
	v, err := c.Upload(ctx, client.NewVideo{
		Filename: "film.mp4", Resolutions: []string{"144p"}, Public: true, IdempotencyKey: "film-4711",
	}, f, info.Size(), &client.UploadOptions{
		Transfer: client.Resumable,
		Progress: func(sent, total int64) { percent = 100 * sent / total },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(percent, "% of", v.Filename)
	// Output: 100 % of film.mp4
}

// List the videos of an album, however many there are.
func ExampleClient_Videos() {
	c, err := client.New(os.Getenv("SPOOL_SERVER"), os.Getenv("SPOOL_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	albums := 0
	for v, err := range c.Videos(context.Background(), client.Filter{Metadata: map[string]string{"album": "none of that name"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.ID, v.Status)
		albums++
	}
	fmt.Println(albums, "videos")
	// Output: 0 videos
}

// Tell refusals apart by their codes.
func ExampleError() {
	c, err := client.New(os.Getenv("SPOOL_SERVER"), "a-wrong-key")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Usage(context.Background())
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Status, e.Code)
	}
	// Output: 401 invalid_api_key
}

// Receive webhooks.
func ExampleVerifyWebhook() {
	secret := os.Getenv("WEBHOOK_SECRET") // whsec_…, from the registration
	http.HandleFunc("POST /hook", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		event, err := client.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		// An event may come twice, with the same ID. Answer soon, and work later.
		log.Println(event.ID, event.Type, event.Data.ID, event.Data.Status)
		w.WriteHeader(http.StatusNoContent)
	})
}
