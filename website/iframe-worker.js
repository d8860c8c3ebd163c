// The search runs in a Worker, and browsers start none for a page that was opened as a file. There a
// hidden frame does its work instead. Nothing is loaded from elsewhere.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => this.deliver(this, data)
      const script = inside.document.createElement("script")
      script.src = url
      script.onload = () => {
        const messages = this.waiting
        this.waiting = null
        messages.forEach((data) => this.postMessage(data))
      }
      script.onerror = (event) => this.onerror?.(event)
      inside.document.head.append(script)
    }

    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data)
      } else {
        this.deliver(this.frame.contentWindow, data)
      }
    }

    // Later, as from a Worker: who sends has finished by then.
    deliver(receiver, data) {
      setTimeout(() => receiver?.onmessage?.(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
