package cache

import "testing"

func TestWhatIsInUseStays(t *testing.T) {
	t.Parallel()
	c := New[int, string](100)
	c.Add(0, "in use", 10)
	for i := 1; i <= 100; i++ {
		c.Add(i, "other", 10)
		if value, ok := c.Get(0); !ok || value != "in use" {
			t.Fatalf("a value in use is lost after %d others", i)
		}
		size := int64(0)
		for _, generation := range []map[int]entry[int, string]{c.young, c.old} {
			for _, e := range generation {
				size += e.size
			}
		}
		if size > 100 {
			t.Fatalf("%d are kept after %d values; want 100 at most", size, i)
		}
	}
	if _, ok := c.Get(1); ok {
		t.Error("a value that nobody uses is kept for ever")
	}
}

func TestAValueThatIsTooLargeDropsNoOther(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Add("small", 1, 50)
	c.Add("large", 2, 51)
	if _, ok := c.Get("large"); ok {
		t.Error("a value of more than half of the limit is kept")
	}
	if value, ok := c.Get("small"); !ok || value != 1 {
		t.Errorf("the small value is %d, %v; want 1", value, ok)
	}
}

func TestAKeyKeepsItsFirstValue(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Add("a", 1, 10)
	c.Add("a", 2, 10)
	if value, _ := c.Get("a"); value != 1 {
		t.Errorf("value = %d; want the one that others may have got", value)
	}
}
