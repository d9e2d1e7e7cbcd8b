// Search without a server. A page opened from the disk may not start a worker, so a hidden frame stands in for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = (...urls) => Promise.all(urls.map((u) => this.load(u)));
      this.ready = this.load(url);
    }
    load(url) {
      return new Promise((done, failed) => {
        const script = this.inner.document.createElement("script");
        Object.assign(script, { src: url, onload: done, onerror: failed, async: false });
        this.inner.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })));
    }
  };
}
