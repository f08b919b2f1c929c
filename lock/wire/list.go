package wire

import (
	"math"
	"reflect"
)

// coded is a pointer to a T with a Code method.
type coded[T any] interface {
	*T
	Code(c *Coder)
}

// List codes a list.
func List[T any, P coded[T]](c *Coder, v *[]T) {
	least := 1
	if !c.writing {
		least = leastOf[T, P](c)
	}
	for i := range Elements(c, v, least, math.MaxInt) {
		P(&(*v)[i]).Code(c)
	}
}

// ListFunc codes a list of up to most elements, each by f and of at least least bytes.
func ListFunc[T any](c *Coder, v *[]T, least, most int, f func(v *T, c *Coder)) {
	for i := range Elements(c, v, least, most) {
		if f(&(*v)[i], c); c.err != nil {
			return
		}
	}
}

// Numbers codes a list of unsigned numbers.
func Numbers[T ~uint16 | ~uint32 | ~uint64](c *Coder, v *[]T) {
	for i := range Elements(c, v, 1, math.MaxInt) {
		Number(c, &(*v)[i])
	}
}

// FixedNumbers codes a list of numbers of 8 bytes each.
func FixedNumbers[T ~uint64](c *Coder, v *[]T) {
	for i := range Elements(c, v, 8, math.MaxInt) {
		Fixed(c, &(*v)[i])
	}
}

// Texts codes a list of texts.
func Texts(c *Coder, v *[]string) {
	for i := range Elements(c, v, 1, math.MaxInt) {
		Text(c, &(*v)[i])
	}
}

// Elements codes the length of a list, at most most, makes room for the elements when reading, and returns the list for
// them to be coded. Each element has at least least bytes. A list that is read repeatedly keeps its memory.
func Elements[T any](c *Coder, v *[]T, least, most int) []T {
	n := c.size(len(*v), most)
	switch {
	case c.err != nil:
		return nil
	case c.writing:
	case n > (len(c.b)-c.at)/least:
		c.above(uint64(n), uint64((len(c.b)-c.at)/least), ErrLong)
		return nil
	case n > cap(*v):
		*v = make([]T, n)
	default:
		*v = (*v)[:n]
		clear(*v)
	}
	return *v
}

// leastOf returns the minimum size of a T: that of the zero T, in which all numbers, texts and lists are as short as
// possible.
func leastOf[T any, P coded[T]](c *Coder) int {
	key := reflect.ValueOf(reflect.TypeFor[T]()).Pointer()
	least := c.leasts[key]
	if least == 0 {
		zero := Coder{writing: true}
		P(new(T)).Code(&zero)
		least = max(len(zero.b), 1)
		if c.leasts == nil {
			c.leasts = map[uintptr]int{}
		}
		c.leasts[key] = least
	}
	return least
}

// Optional codes whether there is a value, and the value.
func Optional[T any, P coded[T]](c *Coder, v **T) {
	there := *v != nil
	c.Bool(&there)
	if !there {
		return
	}
	if !c.writing {
		*v = new(T)
	}
	P(*v).Code(c)
}
