package e2e

import (
	"fmt"
	"net/http"
	"strings"
)

// dyingChange has a video become public or private, on which the server must die without an answer.
func dyingChange(public bool) func(*server, upload) {
	return func(s *server, u upload) {
		s.t.Helper()
		body := strings.NewReader(fmt.Sprintf(`{"isPublic":%t}`, public))
		headers := []header{{"X-API-KEY", apiKey}, {"Content-Type", "application/json"}}
		if r, err := s.trySend("PATCH", s.url+"/api/video/"+u.ID, body, headers...); err == nil {
			s.t.Fatalf("PATCH answers %d %s; want the server to die first", r.status, r.body)
		}
	}
}

// changeAgain repeats a change whose answer was lost. Before and after it, no public address of a private video works.
func changeAgain(public bool) func(*server, upload) {
	return func(s *server, u upload) {
		s.t.Helper()
		address := s.url + "/v/" + u.ID + "/144p.mp4"
		check := func() (isPublic, works bool) {
			works = s.send("GET", address, nil).status == http.StatusOK // asked first: a video may become private in between
			isPublic = decode[upload](s.t, s.call("GET", "/api/video/"+u.ID, nil), http.StatusOK).IsPublic
			if works && !isPublic && !public {
				again := s.send("GET", address, nil)
				if again.status == http.StatusOK {
					s.t.Error("the video is private, and its public address works")
				}
			}
			return isPublic, works
		}
		check()
		r := decode[upload](s.t, s.call("PATCH", "/api/video/"+u.ID, fmt.Sprintf(`{"isPublic":%t}`, public)), http.StatusOK)
		if isPublic, works := check(); r.IsPublic != public || isPublic != public || works != public {
			s.t.Errorf("after the change isPublic is %t, then %t, and the public address works: %t; want %t", r.IsPublic, isPublic, works, public)
		}
	}
}
