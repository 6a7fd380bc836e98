/** The height of a row that was not measured yet; about that of one line of text. */
const estimate = 48;

/**
 * The heights and places of all rows of a list, measured or estimated.
 */
export class RowHeights {
    /** @type {Map<string, number>} */
    #heights = new Map();
    /** Where each row begins; one entry more than rows, for the end. */
    #tops = new Float64Array(1);
    #count = 0;

    clear() {
        this.#heights.clear();
    }

    get total() {
        return this.#tops[this.#count];
    }

    /**
     * Notes a measured height.
     *
     * @param {string} key
     * @param {number} height
     * @returns {boolean} whether it differs from the one before
     */
    set(key, height) {
        if (this.#heights.get(key) === height) return false;
        this.#heights.set(key, height);
        return true;
    }

    /**
     * Places the rows below each other. If they do not fill `space`, they stand at its end.
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
     * The row at a place, or the nearest one.
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
