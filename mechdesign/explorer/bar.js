// A native range input, so that keyboards and screen readers need no help. While a hand is on it, it
// shows what the hand says; what the server makes of that comes a moment later.
const SETTLED = 400; // milliseconds after which the server's word counts again

export default {
  template: `
    <input
      type="range"
      :min="min" :max="max" :step="step" :value.prop="shown" :disabled="still"
      :aria-label="label" :aria-valuetext="text" :style="{ '--fill': fill }"
      @input="move" @change="settle"
    />
  `,
  props: {
    min: Number,
    max: Number,
    step: Number,
    value: Number,
    label: String,
    unit: String, // "share": the value is a probability; "nats": it is the logarithm of a level
    beyond: String, // how to say a level that lies beyond the ends
    still: Boolean,
  },
  data: () => ({ held: null, timer: null }),
  computed: {
    shown() {
      return this.held ?? this.value;
    },
    fill() {
      const part = (this.shown - this.min) / (this.max - this.min);
      return `${100 * Math.min(Math.max(part, 0), 1)}%`;
    },
    text() {
      if (this.unit === "share") return `${Number((100 * this.shown).toPrecision(3))} percent`;
      if (this.beyond && this.held === null) return this.beyond;
      return `${Number((10 ** this.shown).toPrecision(3))} nats`;
    },
  },
  methods: {
    move(event) {
      clearTimeout(this.timer);
      this.held = Number(event.target.value);
      this.$emit("move", this.held);
    },
    settle(event) {
      this.$emit("release", Number(event.target.value));
      clearTimeout(this.timer);
      this.timer = setTimeout(() => (this.held = null), SETTLED);
    },
  },
  beforeUnmount() {
    clearTimeout(this.timer);
  },
};
