// A native range input, which keyboards and screen readers know. While it is dragged it shows where it
// is dragged to; the value that the server makes of that comes a moment later.
const DEBOUNCE = 400; // milliseconds without a move after which the server's value is shown again

export default {
  template: `
    <input
      type="range"
      :min="min" :max="max" :step="step" :value.prop="shown" :disabled="fixed"
      :aria-label="label" :aria-valuetext="text" :style="{ '--fill': fill }"
      @input="move" @change="release"
    />
  `,
  props: {
    min: Number,
    max: Number,
    step: Number,
    value: Number,
    label: String,
    unit: String, // "share": the value is a probability; "nats": it is the logarithm of a level
    beyond: String, // the level in words where it lies beyond the ends
    fixed: Boolean,
  },
  data: () => ({ dragged: null, timer: null }),
  computed: {
    shown() {
      return this.dragged ?? this.value;
    },
    fill() {
      const part = (this.shown - this.min) / (this.max - this.min);
      return `${100 * Math.min(Math.max(part, 0), 1)}%`;
    },
    text() {
      if (this.unit === "share") return `${Number((100 * this.shown).toPrecision(3))} percent`;
      if (this.beyond && this.dragged === null) return this.beyond;
      return `${Number((10 ** this.shown).toPrecision(3))} nats`;
    },
  },
  methods: {
    move(event) {
      clearTimeout(this.timer);
      this.dragged = Number(event.target.value);
      this.$emit("move", this.dragged);
    },
    release(event) {
      this.$emit("release", Number(event.target.value));
      clearTimeout(this.timer);
      this.timer = setTimeout(() => (this.dragged = null), DEBOUNCE);
    },
  },
  beforeUnmount() {
    clearTimeout(this.timer);
  },
};
