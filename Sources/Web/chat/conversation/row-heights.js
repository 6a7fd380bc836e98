/** The estimated height of an unmeasured row in CSS pixels, about that of one line of text. */
const estimate = 48;

/** The measured or estimated heights of all rows of a list, and the resulting row positions. */
export class RowHeights {
    /** @type {Map<string, number>} */
    #heights = new Map();
    /** The top positions of the rows in CSS pixels, followed by the end of the list. */
    #tops = new Float64Array(1);
    #count = 0;

    clear() {
        this.#heights.clear();
    }

    get total() {
        return this.#tops[this.#count];
    }

    /**
     * Records a row's measured height.
     *
     * @param {string} key
     * @param {number} height
     * @returns {boolean} whether the height differs from the height recorded before
     */
    set(key, height) {
        if (this.#heights.get(key) === height) return false;
        this.#heights.set(key, height);
        return true;
    }

    /**
     * Computes the positions of rows below each other. If the rows do not fill the height `space`,
     * all rows are moved down so that the last row ends at the bottom of `space`.
     *
     * @param {{key: string}[]} rows
     * @param {number} space
     */
    layOut(rows, space) {
        this.#count = rows.length;
        if (this.#tops.length < rows.length + 1) this.#tops = new Float64Array(rows.length * 2 + 1);
        let top = 0;
        for (let index = 0; index < rows.length; index += 1) {
            this.#tops[index] = top;
            top += this.#heights.get(rows[index].key) ?? estimate;
        }
        this.#tops[rows.length] = top;
        const shift = Math.max(0, space - top);
        for (let index = 0; shift > 0 && index <= rows.length; index += 1) {
            this.#tops[index] += shift;
        }
    }

    /** @param {number} index */
    top(index) {
        return this.#tops[index];
    }

    /** @param {number} index */
    height(index) {
        return this.#tops[index + 1] - this.#tops[index];
    }

    /**
     * Returns the index of the row at a vertical position, or of the nearest row.
     *
     * @param {number} place
     */
    indexAt(place) {
        let [low, high] = [0, this.#count - 1];
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.#tops[middle] <= place) low = middle;
            else high = middle - 1;
        }
        return low;
    }
}
