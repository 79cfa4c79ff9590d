package abuse

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// slowClients is how many of them there are, a third of each kind.
const slowClients = 500

// attackWithEverything has slow clients, a flood of requests and one of searches at the same time.
func attackWithEverything(t *testing.T, o *outcome) {
	const limit = 50 // requests a second for each key
	s := start(t, "SPOOL_RATE_LIMIT=0")
	mallory, lister, searcher, alice := s.newKey("mallory"), s.newKey("mallory"), s.newKey("mallory"), s.newKey("alice")
	mallory.createMany(2000, 16<<10)
	file := clip(t, "noise.mp4", "-f lavfi -i testsrc2=size=640x360:rate=25,noise=alls=80:allf=t -t 20 -c:v libx264 -preset ultrafast -crf 18 -pix_fmt yuv420p")
	played, _ := alice.wait(alice.submit(`["360p"]`, "", file).ID, 5*time.Minute)
	film := strings.TrimPrefix(played.Resolutions["360p"].VideoURL, s.url)
	video := alice.create(`["144p"]`, "")
	s.kill()
	s.env = append(s.env, fmt.Sprintf("SPOOL_RATE_LIMIT=%d", limit))
	s.launch()
	for _, c := range []*client{mallory, lister, searcher, alice} {
		c.url = s.url
	}
	path := "/api/video/" + video.ID
	quiet := alice.measure(path, 500)

	attackers := []*actor{
		act(t, "slow", order{URL: s.url, Count: slowClients / 3, Send: []string{"GET /api/video HTTP/1.1\r\nHost: h\r\nX-A: "}, Trickle: "a"}),
		act(t, "slow", order{URL: s.url, Count: slowClients / 3, Send: slowBodies(mallory), Trickle: " "}),
		act(t, "slow", order{URL: s.url, Count: slowClients - 2*(slowClients/3), Send: []string{"GET " + film + " HTTP/1.1\r\nHost: h\r\n\r\n"}}),
	}
	requests := act(t, "flood", order{URL: s.url + "/api/video?limit=1", Key: mallory.key, Parallel: 64, Rate: 10 * limit})
	lists := act(t, "flood", order{URL: s.url + "/api/video?limit=100", Key: lister.key, Parallel: 64, Rate: 10 * limit})
	searches := act(t, "flood", order{URL: s.url + "/api/video?metadata.album=none&limit=100", Key: searcher.key, Parallel: 16})
	time.Sleep(3 * time.Second) // until all are connected
	now := alice.measure(path, 500)
	flooded, listed, searched, connected := requests.stop(), lists.stop(), searches.stop(), 0
	for _, a := range attackers {
		connected += a.stop().Connected
	}
	o.responsive(quiet, now)
	o.holds(connected >= slowClients, fmt.Sprintf("%d slow clients, a flood at 10 × the rate limit, large lists and searches all the while", slowClients),
		"%d connections; the flood: %s; lists of 1.6 MB: %s; the searches: %s", connected,
		statuses(flooded.Statuses), statuses(listed.Statuses), statuses(searched.Statuses))
	s.memoryHolds(o)
}

// slowBodies are the beginnings of requests whose bodies never end.
func slowBodies(c *client) []string {
	create := "POST /api/video HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 30000\r\nX-API-KEY: " + c.key + "\r\n\r\n{"
	sends := []string{create}
	for range 10 {
		u := c.create(`["144p"]`, "")
		at := strings.TrimPrefix(u.UploadURL, c.url)
		sends = append(sends, create, "PUT "+at+" HTTP/1.1\r\nHost: h\r\nContent-Type: "+u.ContentType+"\r\nContent-Length: 1000000\r\n\r\n")
	}
	return sends
}
